//! Tables and code in Markdown.

/// A table with this head.
pub(super) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let mut text = line(&head);
    text.push_str(&rule);
    text.extend(rows.map(|row| line(&row)));
    text
}

fn line(cells: &[String]) -> String {
    // Also within code a bar ends a cell.
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Text that is shown as it is.
pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}
