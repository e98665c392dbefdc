//! The workload's program: where to look for it, and what to say when it does not start.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::failure::Failure;

/// Where to look when PATH is not set.
const DEFAULT_PATH: &str = "/usr/local/bin:/bin:/usr/bin";

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
        let arguments = words
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Failure::failed("an argument contains a NUL byte"))?;
        let program = arguments.first().map(CString::as_bytes).unwrap_or_default();
        let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
        Ok(Self { candidates: candidates(program, &path), arguments })
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
            .map(std::path::Path::new)
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

    #[test]
    fn failures_are_sentences() {
        let command = prepare("nope", Some("/nonexistent"));
        assert_eq!(command.explain(libc::ENOENT), "outcall: cannot run 'nope': not found");
        assert!(command.explain(libc::EPERM).contains("refused (EPERM) by policy; ask why"));
        assert!(command.explain(libc::ENOEXEC).contains("#!"));
        assert!(prepare("/etc/passwd", None).explain(libc::ENOENT).contains("interpreter"));
    }
}
