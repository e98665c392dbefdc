//! The same program twice in the same directory, natively and supervised, for comparison.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{Finished, Supervised};

/// A file tree: every name with its mode, owner, size and content (of a link: its text).
pub type Tree = BTreeMap<OsString, Entry>;

/// What is compared of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: u32,
    pub owner: (u32, u32),
    pub size: u64,
    pub content: Vec<u8>,
}

/// Both runs and both trees.
#[derive(Debug)]
pub struct Twins {
    pub native: Finished,
    pub supervised: Finished,
    native_tree: Tree,
    supervised_tree: Tree,
}

/// Runs a program natively and then supervised, under rules that allow everything, each time in the
/// same directory, emptied and prepared anew.
pub fn both_ways<S: AsRef<OsStr>>(prepare: impl Fn(&Path), program: &[S]) -> Twins {
    let run = Supervised::allowing_all();
    let workspace = run.workspace();
    prepare(&workspace);
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).current_dir(&workspace);
    // A run says where its supervisor can be asked: the one variable that it adds.
    command.env("OUTCALL_AGENT_SOCKET", "/run/outcall/agent.sock");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().expect("it starts").wait_with_output().expect("it ends");
    // As a shell, and outcallctl, would tell it.
    let code = output.status.code().or_else(|| Some(128 + output.status.signal()?));
    let native = Finished { code, stdout: output.stdout, stderr: output.stderr, log: Vec::new() };
    let native_tree = tree(&workspace);
    empty(&workspace);
    prepare(&workspace);
    let supervised = run.run(program);
    let supervised_tree = tree(&workspace);
    Twins { native, supervised, native_tree, supervised_tree }
}

/// A shell script both ways.
pub fn shell_both_ways(prepare: impl Fn(&Path), script: &str) -> Twins {
    both_ways(prepare, &["/bin/bash", "-c", script])
}

impl Twins {
    /// Asserts the same code, output and tree, and that no allow was racy.
    #[track_caller]
    pub fn agree(&self) -> &Self {
        self.agree_except(&[])
    }

    /// As `agree`, but size and content of paths that contain one of these words, which hold times
    /// or process ids, may differ.
    #[track_caller]
    pub fn agree_except(&self, words: &[&str]) -> &Self {
        assert_same_lines("stdout", &self.native.stdout, &self.supervised.stdout);
        assert_same_lines("stderr", &self.native.stderr, &self.supervised.stderr);
        assert_eq!(self.native.code, self.supervised.code, "exit code (native, supervised)");
        assert_same_tree(&self.native_tree, &self.supervised_tree, words);
        let racy = self.supervised.log.iter().filter(|line| line["answer"] == "racy");
        assert_eq!(racy.count(), 0, "racy answers");
        assert!(!self.supervised.log.is_empty(), "the supervised run left no record");
        self
    }

    /// Asserts that the native run ended well, so that the comparison means something.
    #[track_caller]
    pub fn succeeded(&self) -> &Self {
        self.native.succeeded();
        self
    }
}

#[track_caller]
fn assert_same_lines(stream: &str, native: &[u8], supervised: &[u8]) {
    if native == supervised {
        return;
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for (name, bytes) in [("native", native), ("supervised", supervised)] {
        std::fs::write(scratch.path().join(name), bytes).expect("written");
    }
    let mut diff = Command::new("diff");
    diff.args(["-a", "-U1", "native", "supervised"]).current_dir(scratch.path());
    let shown = diff.output().expect("diff runs").stdout;
    panic!("{stream} differs:\n{}", String::from_utf8_lossy(&shown));
}

#[track_caller]
fn assert_same_tree(native: &Tree, supervised: &Tree, words: &[&str]) {
    let names = |tree: &Tree| tree.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(native), names(supervised), "names in the tree (native, supervised)");
    for (name, entry) in native {
        let (mut entry, mut other) = (entry.clone(), supervised[name].clone());
        let shown = name.to_string_lossy();
        if words.iter().any(|word| shown.contains(word)) {
            for side in [&mut entry, &mut other] {
                side.content.clear();
                side.size = 0;
            }
        }
        assert!(entry == other, "{shown} differs\nnative: {entry:?}\nsupervised: {other:?}");
    }
}

/// The tree below a directory.
#[must_use]
pub fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(&directory).expect("a readable directory") {
            let path = entry.expect("an entry").path();
            let found = path.symlink_metadata().expect("its metadata");
            let content = if found.is_symlink() {
                std::fs::read_link(&path).expect("its text").into_os_string().into_vec()
            } else if found.is_file() {
                std::fs::read(&path).expect("its content")
            } else {
                Vec::new()
            };
            if found.is_dir() {
                pending.push(path.clone());
            }
            let name = path.as_os_str().as_bytes()[root.as_os_str().len()..].to_vec();
            // How much a directory takes depends on what was in it before.
            let size = if found.is_file() { found.len() } else { 0 };
            let owner = (found.uid(), found.gid());
            let entry = Entry { mode: found.mode(), owner, size, content };
            tree.insert(OsString::from_vec(name), entry);
        }
    }
    tree
}

fn empty(directory: &Path) {
    for entry in std::fs::read_dir(directory).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        let found = path.symlink_metadata().expect("its metadata");
        let removed = if found.is_dir() {
            std::fs::remove_dir_all(&path)
        } else {
            std::fs::remove_file(&path)
        };
        removed.expect("the directory is emptied");
    }
}
