//! What the machine offers, and where the built programs are.

use std::path::PathBuf;

fn target() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(|root| root.join("target")).unwrap_or_default()
}

/// The directory of the shipped programs; `make build` fills it.
#[must_use]
pub fn dist() -> PathBuf {
    let path = target().join("dist");
    assert!(path.join("outcallctl").exists(), "nothing in {}; run: make build", path.display());
    path
}

/// The directory of the programs built with single mitigations off, for the twins of attack tests.
#[must_use]
pub fn racy_dist() -> PathBuf {
    let path = target().join("racy/dist");
    assert!(path.join("outcallctl").exists(), "nothing in {}; run: make test", path.display());
    path
}

/// A probe or attack program of this crate (`src/bin/`).
#[must_use]
pub fn probe(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap_or(&test).to_owned();
    let path = profile.join(name);
    assert!(path.exists(), "no probe at {}", path.display());
    path
}

/// True as root. Without root the tier is named loudly, and where CI runs it fails.
#[must_use]
pub fn require_root(tier: &str) -> bool {
    // SAFETY-free way to learn the uid: the owner of our own /proc entry.
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !root {
        eprintln!("NOT RUN: the {tier} tier needs root");
        assert!(std::env::var_os("CI").is_none(), "the {tier} tier must run in CI");
    }
    root
}
