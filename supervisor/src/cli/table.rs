//! Columns for people.

use super::screen::one_line;

/// Rows below a head, each column as wide as its widest cell. Nothing in a cell steers the terminal.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let head = head.map(str::to_owned);
    let rows: Vec<[String; N]> = std::iter::once(&head)
        .chain(rows)
        .map(|row| row.clone().map(|cell| one_line(&cell)))
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..N).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [["long id".to_owned(), "x\u{1b}".to_owned()], ["b".to_owned(), String::new()]];
        assert_eq!(table(["ID", "WHAT"], &rows), "ID       WHAT\nlong id  x\\u{1b}\nb\n");
    }
}
