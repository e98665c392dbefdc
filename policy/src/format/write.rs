//! An arranged tree to text.

use super::WIDTH;
use super::arrange::inline;
use super::scalar::{Written, line};
use super::shape::Shape;
use super::tree::{Body, Collection, Comment, Entry};

/// The text of a file.
pub(super) fn write(head: &[Comment], root: &Collection) -> String {
    let mut writer = Writer { out: String::new(), lead: None };
    writer.comments(head, 0, Shape::File);
    if !head.is_empty() {
        writer.gap();
    }
    writer.collection(root, 0, Shape::File);
    writer.out
}

struct Writer {
    out: String,
    /// What stands on the next line in place of its indentation: the dash of an item.
    lead: Option<String>,
}

impl Writer {
    fn line(&mut self, indent: usize, text: &str) {
        if !text.is_empty() {
            let lead = self.lead.take().unwrap_or_else(|| " ".repeat(indent));
            self.out.push_str(&lead);
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    fn gap(&mut self) {
        self.out.push('\n');
    }

    fn comments(&mut self, comments: &[Comment], indent: usize, shape: Shape) {
        for (at, comment) in comments.iter().enumerate() {
            if at > 0 && comment.is_spaced && shape.keeps_gaps() {
                self.gap();
            }
            self.line(indent, &comment.text);
        }
    }

    fn collection(&mut self, collection: &Collection, indent: usize, shape: Shape) {
        for (at, entry) in collection.entries.iter().enumerate() {
            let first = entry.before.first();
            let wants_gap = first.map_or(entry.is_spaced, |comment| comment.is_spaced);
            if at > 0 && (shape.is_spaced() || wants_gap && shape.keeps_gaps()) {
                self.gap();
            }
            self.comments(&entry.before, indent, shape);
            if first.is_some() && entry.is_spaced && shape.keeps_gaps() {
                self.gap();
            }
            self.entry(entry, indent, shape.child(entry.key.as_deref()));
        }
        if let Some(first) = collection.foot.first() {
            if shape.is_spaced() || first.is_spaced && shape.keeps_gaps() {
                self.gap();
            }
            self.comments(&collection.foot, indent, shape);
        }
    }

    fn entry(&mut self, entry: &Entry, indent: usize, shape: Shape) {
        let lead = match &entry.key {
            Some(key) => format!("{}:", line(key, false)),
            None => "-".to_owned(),
        };
        let room = WIDTH.saturating_sub(indent + lead.chars().count() + 1);
        let (value, lines) = match &entry.piece.body {
            Body::Null if entry.key.is_some() => (String::new(), Vec::new()),
            Body::Text(text) => match text.written(shape, room) {
                Written::Line(line) => (line, Vec::new()),
                Written::Block(header, lines) => (header, lines),
            },
            body => match (entry.collection(), &entry.inline) {
                (Some(inner), None) => {
                    self.nested(entry, &lead, inner, indent, shape);
                    return;
                }
                (Some(_), Some(text)) => (text.clone(), Vec::new()),
                (None, _) => (inline(body).unwrap_or_default(), Vec::new()),
            },
        };
        let parts = [lead.as_str(), &value, entry.trailing.as_deref().unwrap_or_default()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        self.line(indent, &parts.join(" "));
        for text in lines {
            self.line(indent + 2, &text);
        }
    }

    fn nested(&mut self, entry: &Entry, lead: &str, inner: &Collection, at: usize, shape: Shape) {
        if entry.key.is_some() {
            let trailing = entry.trailing.as_ref().map(|note| format!(" {note}"));
            self.line(at, &format!("{lead}{}", trailing.unwrap_or_default()));
        } else {
            let outer = self.lead.take().unwrap_or_else(|| " ".repeat(at));
            self.lead = Some(format!("{outer}- "));
        }
        self.collection(inner, at + 2, shape);
    }
}
