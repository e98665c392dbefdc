//! The rule set that Outcall ships with.

use crate::SourceFile;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../rules/", $name)))),*]
    };
}

/// The shipped rules: offline development in the workspace, and nothing that reaches beyond it.
#[must_use]
pub fn default_rules() -> Vec<SourceFile> {
    let files = shipped![
        "10-credentials.yaml",
        "20-authority.yaml",
        "30-programs.yaml",
        "40-network.yaml",
        "50-development.yaml",
    ];
    let each = files.into_iter();
    each.map(|(name, text)| SourceFile { name: name.to_owned(), text: text.to_owned() }).collect()
}

#[cfg(test)]
#[path = "tests/defaults.rs"]
mod tests;
