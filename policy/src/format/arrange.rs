//! The canonical order of entries, and which collections stand on one line.

use super::WIDTH;
use super::scalar::{Text, line};
use super::shape::Shape;
use super::tree::{Body, Collection, Comment, Entry};

/// Brings a collection that is written at `indent` into its canonical form.
pub(super) fn arrange(collection: &mut Collection, indent: usize, shape: Shape) {
    collection.entries.sort_by_key(|entry| shape.rank(entry.key.as_deref()));
    for entry in &mut collection.entries {
        let child = shape.child(entry.key.as_deref());
        respell(&mut entry.piece.body, child);
        let Some(inner) = entry.collection_mut() else { continue };
        arrange(inner, indent + 2, child);
        // Between a dash and the first key is no place for a comment.
        if entry.key.is_none() {
            let first = entry.collection_mut().and_then(|inner| inner.entries.first_mut());
            let hoisted = first.map(|first| std::mem::take(&mut first.before)).unwrap_or_default();
            entry.before.extend(hoisted);
        }
        let lead = entry.key.as_ref().map_or(2, |key| line(key, false).chars().count() + 2);
        let fits = |text: &String| indent + lead + text.chars().count() <= WIDTH;
        entry.inline = inline(&entry.piece.body).filter(|_| child.may_be_inline()).filter(fits);
        if entry.key.is_none() && entry.inline.is_none() {
            lift(entry);
        }
    }
}

/// An item that is written over several lines has its comment above.
fn lift(entry: &mut Entry) {
    if let Some(text) = entry.trailing.take() {
        let at = entry.start;
        let note = Comment {
            text,
            offset: at.offset,
            line: at.line,
            column: 0,
            is_alone: true,
            is_spaced: false,
        };
        entry.before.push(note);
    }
}

/// One spelling where two mean the same.
fn respell(body: &mut Body, shape: Shape) {
    match body {
        Body::Bool(value) if shape == Shape::Condition => {
            *body = Body::Text(Text { value: value.to_string(), block: None });
        }
        Body::Text(text) if shape == Shape::Action && text.value == "deny" => {
            *text = Text { value: "block".to_owned(), block: None };
        }
        _ => {}
    }
}

/// A value within braces or brackets, if nothing in it needs a line of its own.
pub(super) fn inline(body: &Body) -> Option<String> {
    let collection = match body {
        Body::Null => return Some("null".to_owned()),
        Body::Bool(value) => return Some(value.to_string()),
        Body::Number(text) => return Some(text.clone()),
        Body::Text(text) => return text.inline(),
        Body::Collection(collection) => collection,
    };
    if !collection.foot.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    for entry in &collection.entries {
        if !entry.before.is_empty() || entry.trailing.is_some() {
            return None;
        }
        let value = inline(&entry.piece.body)?;
        parts.push(match &entry.key {
            Some(key) => format!("{}: {value}", line(key, true)),
            None => value,
        });
    }
    let parts = parts.join(", ");
    Some(match (collection.is_list, parts.is_empty()) {
        (true, _) => format!("[{parts}]"),
        (false, true) => "{}".to_owned(),
        (false, false) => format!("{{ {parts} }}"),
    })
}
