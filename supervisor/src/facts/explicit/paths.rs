//! Paths that nobody has walked: what can be said about them without looking.

/// A path without `//`, `.` and a slash at its end. One that is relative begins at `cwd`, where that
/// is absolute. One with `..` stays as it is, since a link before it may lead anywhere: a rule
/// refuses such paths as unresolved.
pub(super) fn plain(path: &str, cwd: &str) -> String {
    let whole = match path.starts_with('/') {
        true => path.to_owned(),
        false if cwd.starts_with('/') && !path.is_empty() => format!("{cwd}/{path}"),
        false => return path.to_owned(),
    };
    if whole.split('/').any(|part| part == "..") {
        return path.to_owned();
    }
    let parts: Vec<&str> = whole.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    format!("/{}", parts.join("/"))
}

/// An absolute path with its `..` taken at their word.
pub(super) fn folded(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}
