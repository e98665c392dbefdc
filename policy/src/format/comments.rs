//! Which entry a comment belongs to.

use super::tree::{Collection, Comment, Entry};

/// Puts every comment to the entry it stands with, and returns those that head the file. Fails
/// with a comment whose place is taken.
pub(super) fn attach(
    root: &mut Collection,
    comments: Vec<Comment>,
) -> Result<Vec<Comment>, Comment> {
    for comment in comments {
        let owner = if comment.is_alone { None } else { owner(root, &comment) };
        match owner.and_then(|path| entry(root, &path)) {
            None => place(root, comment),
            Some(entry) if entry.trailing.is_some() => return Err(comment),
            Some(entry) => entry.trailing = Some(comment.text),
        }
    }
    Ok(head(root))
}

/// The way to the entry on whose line a comment stands.
fn owner(collection: &Collection, comment: &Comment) -> Option<Vec<usize>> {
    let index = last_before(collection, comment)?;
    let entry = collection.entries.get(index)?;
    let end = entry.piece.end;
    let (begins_here, is_over) = (entry.start.line == comment.line, end.offset <= comment.offset);
    let inner = entry.collection();
    let is_whole = begins_here && is_over && !inner.is_some_and(|inner| inner.is_block);
    if let Some(path) = inner.filter(|_| !is_whole).and_then(|inner| owner(inner, comment)) {
        return Some([vec![index], path].concat());
    }
    (begins_here || is_over && end.line == comment.line).then(|| vec![index])
}

fn entry<'a>(collection: &'a mut Collection, path: &[usize]) -> Option<&'a mut Entry> {
    let (first, rest) = path.split_first()?;
    let found = collection.entries.get_mut(*first)?;
    if rest.is_empty() { Some(found) } else { entry(found.collection_mut()?, rest) }
}

/// Places a comment that has a line of its own: before what follows it, or, if it is indented
/// deeper than that, at the end of what it is indented like.
fn place(collection: &mut Collection, comment: Comment) {
    let own_column = collection.column;
    let index = last_before(collection, &comment);
    if let Some(entry) = index.and_then(|index| collection.entries.get_mut(index)) {
        let is_inside = comment.offset < entry.piece.end.offset;
        let is_tail = |inner: &Collection| {
            inner.is_block && inner.column <= comment.column && comment.column > own_column
        };
        if is_inside && entry.collection().is_none() {
            entry.before.push(comment);
            return;
        }
        if let Some(inner) = entry.collection_mut().filter(|inner| is_inside || is_tail(inner)) {
            place(inner, comment);
            return;
        }
    }
    match collection.entries.get_mut(index.map_or(0, |index| index + 1)) {
        Some(next) => next.before.push(comment),
        None => collection.foot.push(comment),
    }
}

fn last_before(collection: &Collection, comment: &Comment) -> Option<usize> {
    let starts_before = |entry: &Entry| entry.start.offset < comment.offset;
    collection.entries.partition_point(starts_before).checked_sub(1)
}

/// The comments at the top that a blank line parts from the first entry: they are about the file.
fn head(root: &mut Collection) -> Vec<Comment> {
    let Some(first) = root.entries.first_mut() else { return Vec::new() };
    let gap = match first.is_spaced {
        true => Some(first.before.len()),
        false => first.before.iter().rposition(|comment| comment.is_spaced),
    };
    first.before.drain(..gap.unwrap_or(0)).collect()
}
