//! Man pages, from the same definition as flags, help and completions.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;

use super::arguments::{DaemonArguments, OperatorArguments};

/// Writes a page for `outcallctl` and each of its commands, and one for `outcalld`.
pub(super) fn write(directory: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write man pages into {}", directory.display());
    std::fs::create_dir_all(directory).with_context(cannot)?;
    clap_mangen::generate_to(OperatorArguments::command(), directory).with_context(cannot)?;
    let mut page = Vec::new();
    Man::new(DaemonArguments::command()).section("8").render(&mut page)?;
    std::fs::write(directory.join("outcalld.8"), page).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        for name in
            ["outcallctl.1", "outcallctl-ps.1", "outcallctl-requests-approve.1", "outcalld.8"]
        {
            let page = std::fs::read_to_string(directory.path().join(name)).unwrap();
            assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{name}: {page}");
        }
        assert!(!directory.path().join("outcallctl-man.1").exists(), "what is hidden has no page");
    }
}
