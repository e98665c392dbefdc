//! The workload's program: where to look for it, and what to say when it does not start.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::sys::process;

/// Where to look when PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";

/// Device and inode of a file.
pub(crate) type Identity = (u64, u64);

/// The names under which the shim is itself; under any other one it stands for that program.
pub(crate) fn is_own_name(name: &OsStr) -> bool {
    name == "outcall" || name == "outcall-agent"
}

/// The shim's own file.
pub(crate) fn own_identity() -> Option<Identity> {
    std::fs::metadata("/proc/self/exe").ok().map(|own| (own.dev(), own.ino()))
}

/// A command, ready for exec.
pub(crate) struct Command {
    /// What to try, in order.
    pub(crate) candidates: Vec<CString>,
    /// The program's arguments, its name first.
    pub(crate) arguments: Vec<CString>,
}

impl Command {
    /// Prepares `words`, of which there is at least one, for the search in `path`.
    pub(crate) fn prepare(words: &[OsString], path: Option<OsString>) -> Result<Self, Failure> {
        let program = words.first().map(OsString::as_os_str).unwrap_or_default();
        Self::named(program, words, path)
    }

    /// As [`Command::prepare`], for a program that goes by another name than its first argument.
    pub(crate) fn named(
        program: &OsStr,
        words: &[OsString],
        path: Option<OsString>,
    ) -> Result<Self, Failure> {
        let arguments = words
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Failure::failed("an argument contains a NUL byte"))?;
        let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
        let program = program.as_bytes();
        Ok(Self { candidates: candidates(program, &path), arguments })
    }

    /// Settles on the one file that is to run, and returns its path with links followed, as rules see
    /// programs. The shim under another name is passed over: it would only ask again.
    pub(crate) fn settle(&mut self, own: Option<Identity>) -> Result<PathBuf, Failure> {
        let mut errno = libc::ENOENT;
        for candidate in &self.candidates {
            let path = Path::new(OsStr::from_bytes(candidate.as_bytes()));
            let Ok(found) = path.metadata() else { continue };
            let is_shim = own == Some((found.dev(), found.ino()));
            if is_shim && !path.file_name().is_some_and(is_own_name) {
                continue;
            }
            if !found.is_file() || !process::may_execute(candidate) {
                errno = libc::EACCES;
                continue;
            }
            let real = path.canonicalize().map_err(Failure::step("cannot resolve the program"))?;
            self.candidates = vec![candidate.clone()];
            return Ok(real);
        }
        Err(Failure::failed(self.explain(errno)))
    }

    /// The sentence for an exec that failed.
    pub(crate) fn explain(&self, errno: i32) -> String {
        let name = self.arguments.first().map(|n| n.to_string_lossy()).unwrap_or_default();
        let why = match errno {
            libc::ENOENT | libc::ENOTDIR => match self.existing() {
                Some(found) => format!("the interpreter that '{found}' names is not found"),
                None => "not found".into(),
            },
            libc::EPERM => {
                "refused (EPERM) by policy; ask why with outcallctl tail --denied".into()
            }
            libc::EACCES => "permission denied (not executable, or a directory)".into(),
            libc::ENOEXEC => "not a program this machine can run; a script needs a #! line".into(),
            libc::E2BIG => "the arguments and the environment are too long".into(),
            libc::ENOSYS => "outcalld stopped answering".into(),
            other => io::Error::from_raw_os_error(other).to_string(),
        };
        format!("outcall: cannot run '{name}': {why}")
    }

    fn existing(&self) -> Option<String> {
        let found = self.candidates.iter().map(|c| OsStr::from_bytes(c.as_bytes()));
        found
            .map(Path::new)
            .find(|path| path.is_file())
            .map(|path| path.to_string_lossy().into_owned())
    }
}

/// As execvp does: a name with a slash is a path; an empty element of PATH is the current directory.
fn candidates(program: &[u8], path: &OsString) -> Vec<CString> {
    let join = |directory: &[u8]| {
        let mut whole = directory.to_vec();
        if !whole.is_empty() {
            whole.push(b'/');
        }
        whole.extend_from_slice(program);
        CString::new(whole).ok()
    };
    if program.contains(&b'/') {
        return join(b"").into_iter().collect();
    }
    path.clone().into_vec().split(|byte| *byte == b':').filter_map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepare(program: &str, path: Option<&str>) -> Command {
        Command::prepare(&[program.into(), "x".into()], path.map(OsString::from)).unwrap()
    }

    fn tried(program: &str, path: Option<&str>) -> Vec<String> {
        let command = prepare(program, path);
        command.candidates.iter().map(|c| c.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn search_follows_execvp() {
        assert_eq!(tried("ls", Some("/a:/b/::c")), ["/a/ls", "/b//ls", "ls", "c/ls"]);
        assert_eq!(tried("ls", Some("")), ["ls"]);
        assert_eq!(tried("ls", None), ["/usr/local/bin/ls", "/bin/ls", "/usr/bin/ls"]);
        assert_eq!(tried("./ls", Some("/a")), ["./ls"]);
        assert_eq!(tried("/bin/ls", Some("/a")), ["/bin/ls"]);
    }

    #[test]
    fn bytes_that_are_not_text_pass() {
        let odd = OsString::from_vec(vec![b'a', 0xff]);
        let command = Command::prepare(std::slice::from_ref(&odd), Some("/p".into())).unwrap();
        assert_eq!(command.arguments[0].as_bytes(), odd.as_bytes());
        assert_eq!(command.candidates[0].as_bytes(), b"/p/a\xff");
        assert!(Command::prepare(&[OsString::from_vec(vec![0])], None).is_err());
    }

    /// FR-007: the file that runs is settled before it is asked about, and it is never the shim itself.
    #[test]
    fn one_file_is_settled_on() {
        let scratch = std::env::temp_dir().join(format!("command-settle-{}", std::process::id()));
        let own = std::fs::metadata("/proc/self/exe").unwrap();
        let own = Some((own.dev(), own.ino()));
        for directory in ["dir/x", "plain", "own", "real"] {
            std::fs::create_dir_all(scratch.join(directory)).unwrap();
        }
        std::fs::write(scratch.join("plain/x"), "").unwrap();
        for (directory, to) in [("own", "/proc/self/exe"), ("real", "/bin/sh")] {
            let to = Path::new(to).canonicalize().unwrap();
            std::os::unix::fs::symlink(to, scratch.join(directory).join("x")).unwrap();
        }
        let settle = |directories: &[&str]| {
            let path: Vec<_> =
                directories.iter().map(|d| format!("{}/{d}", scratch.display())).collect();
            let mut command = prepare("x", Some(&path.join(":")));
            let real = command.settle(own).map_err(|failure| failure.message().to_owned())?;
            Ok::<_, String>((real, command.candidates))
        };
        let (real, candidates) = settle(&["absent", "dir", "plain", "own", "real"]).unwrap();
        assert_eq!(real, Path::new("/bin/sh").canonicalize().unwrap());
        assert_eq!(candidates.len(), 1);
        assert!(candidates[0].to_string_lossy().ends_with("/real/x"));
        assert!(settle(&["own"]).unwrap_err().contains("not found"));
        assert!(settle(&["plain"]).unwrap_err().contains("permission denied"));
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn failures_are_sentences() {
        let command = prepare("nope", Some("/nonexistent"));
        assert_eq!(command.explain(libc::ENOENT), "outcall: cannot run 'nope': not found");
        assert!(command.explain(libc::EPERM).contains("refused (EPERM) by policy; ask why"));
        assert!(command.explain(libc::ENOEXEC).contains("#!"));
        assert!(prepare("/etc/passwd", None).explain(libc::ENOENT).contains("interpreter"));
    }
}
