//! A rule file as its author laid it out: what it says, where, in which style, and its comments.

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StructureStyle};

use super::scalar::{Block, Text};
use crate::yaml::{Key, Node, Value};

/// A value and where it stands.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) body: Body,
    pub(super) start: Spot,
    pub(super) end: Spot,
}

/// What a value is.
#[derive(Debug)]
pub(super) enum Body {
    Null,
    Bool(bool),
    Number(String),
    Text(Text),
    Collection(Collection),
}

/// A list or a mapping.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) is_list: bool,
    /// Laid out by indentation, not by braces.
    pub(super) is_block: bool,
    pub(super) column: usize,
    pub(super) entries: Vec<Entry>,
    /// Comments after the last entry.
    pub(super) foot: Vec<Comment>,
}

/// An item of a list, or a key with its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Option<String>,
    pub(super) piece: Piece,
    pub(super) start: Spot,
    /// A blank line stands before it.
    pub(super) is_spaced: bool,
    pub(super) before: Vec<Comment>,
    pub(super) trailing: Option<String>,
    /// The whole collection on one line, where that is how it is to be written.
    pub(super) inline: Option<String>,
}

/// A byte of the file and the line it is on, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) offset: usize,
    pub(super) line: usize,
}

/// A comment, with its `#` and without trailing spaces.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) text: String,
    pub(super) offset: usize,
    pub(super) line: usize,
    pub(super) column: usize,
    /// Nothing else stands on its line.
    pub(super) is_alone: bool,
    /// A blank line stands before it.
    pub(super) is_spaced: bool,
}

impl Entry {
    /// The collection that the entry holds, if it holds one that is not empty.
    pub(super) fn collection(&self) -> Option<&Collection> {
        match &self.piece.body {
            Body::Collection(collection) if !collection.entries.is_empty() => Some(collection),
            _ => None,
        }
    }

    /// The same, to change it.
    pub(super) fn collection_mut(&mut self) -> Option<&mut Collection> {
        match &mut self.piece.body {
            Body::Collection(collection) if !collection.entries.is_empty() => Some(collection),
            _ => None,
        }
    }
}

/// The layout of a text that was read as `root`, and its comments in written order.
pub(super) fn read(text: &str, root: &Node) -> Option<(Collection, Vec<Comment>)> {
    let events = events(text)?;
    let comments = comments(text, &events);
    let nodes = events.into_iter().filter(|(event, _)| is_content(event));
    let mut reader = Reader { lines: text.split('\n').collect(), text, events: nodes };
    match reader.piece(root)?.body {
        Body::Collection(root) => Some((root, comments)),
        _ => None,
    }
}

/// The comments of a text.
pub(super) fn comments_of(text: &str) -> Option<Vec<Comment>> {
    Some(comments(text, &events(text)?))
}

fn events(text: &str) -> Option<Vec<(Event<'_>, Span)>> {
    let options = granit_parser::options! { max_buffered_comment_events: text.len() };
    Parser::new_from_str_with_options(text, options).collect::<Result<_, _>>().ok()
}

fn is_content(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd
    )
}

fn comments(text: &str, events: &[(Event<'_>, Span)]) -> Vec<Comment> {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut comments = Vec::new();
    for (event, span) in events {
        if let (Event::Comment(note, _), Some(spot)) = (event, spot(span.start)) {
            let line_start = text[..spot.offset].rfind('\n').map_or(0, |newline| newline + 1);
            comments.push(Comment {
                text: format!("#{note}").trim_end_matches([' ', '\t']).to_owned(),
                offset: spot.offset,
                line: spot.line,
                column: span.start.col(),
                is_alone: text[line_start..spot.offset].trim().is_empty(),
                is_spaced: is_spaced(&lines, spot.line),
            });
        }
    }
    comments.sort_by_key(|comment| comment.offset);
    comments
}

fn spot(marker: Marker) -> Option<Spot> {
    Some(Spot { offset: marker.byte_offset()?, line: marker.line() })
}

fn is_spaced(lines: &[&str], line: usize) -> bool {
    line.checked_sub(2)
        .and_then(|above| lines.get(above))
        .is_some_and(|text| text.trim().is_empty())
}

struct Reader<'a, I> {
    text: &'a str,
    lines: Vec<&'a str>,
    events: I,
}

impl<'a, I: Iterator<Item = (Event<'a>, Span)>> Reader<'a, I> {
    fn piece(&mut self, node: &Node) -> Option<Piece> {
        let (event, span) = self.events.next()?;
        let start = spot(span.start)?;
        match (event, &node.value) {
            (Event::SequenceStart(style, ..), Value::List(items)) => {
                let items = items.iter().map(|item| (None, item));
                self.collection(true, style, span, items)
            }
            (Event::MappingStart(style, ..), Value::Map(entries)) => {
                let entries = entries.iter().map(|(key, node)| (Some(key), node));
                self.collection(false, style, span, entries)
            }
            (Event::Scalar(raw, style, ..), value) => {
                let source = span.slice(self.text)?;
                let length = source.trim_end_matches([' ', '\t', '\n']).len();
                let end = Spot { offset: start.offset + length, line: span.end.line() };
                let body = match value {
                    Value::Null => Body::Null,
                    Value::Bool(value) => Body::Bool(*value),
                    Value::Int(number) => Body::Number(number.to_string()),
                    Value::Float => Body::Number(raw.into_owned()),
                    Value::Str(text) => {
                        let block = block(text, style, source, span.start.col());
                        Body::Text(Text { value: text.clone(), block })
                    }
                    Value::List(_) | Value::Map(_) => return None,
                };
                Some(Piece { body, start, end })
            }
            _ => None,
        }
    }

    fn collection<'n>(
        &mut self,
        is_list: bool,
        style: StructureStyle,
        span: Span,
        children: impl Iterator<Item = (Option<&'n Key>, &'n Node)>,
    ) -> Option<Piece> {
        let start = spot(span.start)?;
        let mut entries = Vec::new();
        for (key, node) in children {
            let named = match key {
                Some(_) => Some(spot(self.events.next()?.1.start)?),
                None => None,
            };
            let piece = self.piece(node)?;
            let start = named.unwrap_or(piece.start);
            entries.push(Entry {
                key: key.map(|key| key.text.clone()),
                piece,
                start,
                is_spaced: is_spaced(&self.lines, start.line),
                before: Vec::new(),
                trailing: None,
                inline: None,
            });
        }
        let (event, closing) = self.events.next()?;
        if !matches!(event, Event::SequenceEnd | Event::MappingEnd) {
            return None;
        }
        let is_block = style == StructureStyle::Block;
        // A block ends with its last entry; the parser sees the end only where the next thing is.
        let last = entries.last().filter(|_| is_block).map(|entry| entry.piece.end);
        let end = match last {
            Some(end) => end,
            None => spot(closing.end)?,
        };
        let column = span.start.col();
        let collection = Collection { is_list, is_block, column, entries, foot: Vec::new() };
        Some(Piece { body: Body::Collection(collection), start, end })
    }
}

/// The lines that a text was written in, where it was written in several.
fn block(value: &str, style: ScalarStyle, source: &str, column: usize) -> Option<Block> {
    let (is_literal, lines) = match style {
        ScalarStyle::Literal => (true, value.lines().map(str::to_owned).collect()),
        ScalarStyle::Folded => {
            // The source begins at the first line that is not blank, after its indentation.
            let blank = value.chars().take_while(|c| *c == '\n').count();
            let mut lines = vec![String::new(); blank];
            for (at, line) in source.lines().enumerate() {
                let line = if at == 0 { line } else { line.get(column..).unwrap_or_default() };
                lines.push(line.to_owned());
            }
            (false, lines)
        }
        _ => {
            let unquoted = match style {
                ScalarStyle::Plain => source,
                _ => source.get(1..source.len().checked_sub(1)?)?,
            };
            let lines = unquoted.lines().map(|line| line.trim_matches([' ', '\t']).to_owned());
            let lines: Vec<String> = lines.collect();
            if lines.join(" ") != value || lines.iter().any(String::is_empty) {
                return None;
            }
            (false, lines)
        }
    };
    Block::new(value, is_literal, lines)
}
