//! The log and the rules of a run, under rules that allow everything; and a log that is full.

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use integration::{Supervised, machine};

/// Everything a shell can do to a place; each line is tried on its own.
fn mischief(path: &str, above: &str) -> Vec<String> {
    let mut lines: Vec<String> = ["cat P", "cat P/*", "ls -A P | grep .", "cp -r P copy"]
        .iter()
        .chain(&["echo x >> P", "echo x > P", ": > P/new", "truncate -s 0 P", "mkdir P/new"])
        .chain(&["rm -rf P", "rm -f P/*", "mv P moved", "mv P/* .", "ln P hard", "ln P/* ."])
        .chain(&["ln -sfn /tmp P", "chmod 777 P", "chown 1 P", "touch -d @1 P", "rmdir P"])
        .chain(&["python3 -c \"import os; os.rename('P', 'x')\"", "mknod P/n p"])
        .chain(&["ln -s P soft; cat soft/* soft; rm -f soft/*", "cd P && cat * && rm -f *"])
        .chain(&["exec 9< P/. ; cat /proc/self/fd/9/*", "cat /proc/self/root/P/*"])
        .map(|line| line.replace('P', path))
        .collect();
    lines.push(format!("mv {above} {above}-moved"));
    lines.push(format!("rm -rf {above}/log {above}/rules"));
    lines.push(format!("mv {above}/rules {above}/other; mv {above}/log {above}/other"));
    lines.push(format!(
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('{path}/sock')\""
    ));
    lines
}

#[test]
fn the_log_of_a_run_is_neither_read_nor_changed() {
    let run = Supervised::allowing_all();
    let log = run.log_directory().display().to_string();
    let above = run.outside().display().to_string();
    for line in mischief(&log, &above) {
        let before = run.log().len();
        let finished = run.shell(&line);
        let numbers: Vec<u64> = finished.log.iter().filter_map(|l| l["seq"].as_u64()).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{line}");
        assert!(numbers.len() > before, "{line}");
        assert!(!finished.out().contains("\"seq\""), "{line}: {}", finished.out());
        let files: Vec<_> = std::fs::read_dir(&log).unwrap().flatten().collect();
        assert_eq!(files.len(), 1, "{line}: {files:?}");
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&log).unwrap());
        assert_eq!(mode & 0o777, 0o700, "{line}");
        // `cp -r` makes its directory before it looks into the source.
        let _ = std::fs::remove_dir(run.workspace().join("copy"));
        for copy in ["copy", "moved", "hard", "x"] {
            assert!(!run.workspace().join(copy).exists(), "{line} made {copy}");
        }
        let _ = std::fs::remove_file(run.workspace().join("soft"));
    }
}

#[test]
fn the_rules_of_a_run_are_not_changed() {
    let run = Supervised::allowing_all();
    let rules = run.rules_file();
    let before = std::fs::read(&rules).unwrap();
    let above = run.outside().display().to_string();
    for line in mischief(&rules.display().to_string(), &above) {
        run.shell(&line);
        let found = std::fs::symlink_metadata(&rules).expect(&line);
        assert!(found.is_file(), "{line}");
        assert_eq!(std::fs::read(&rules).unwrap(), before, "{line}");
        let details = (
            std::os::unix::fs::MetadataExt::mode(&found) & 0o777,
            std::os::unix::fs::MetadataExt::uid(&found),
            std::os::unix::fs::MetadataExt::nlink(&found),
        );
        assert_eq!(details, (0o644, 0, 1), "{line}");
        for entry in std::fs::read_dir(run.workspace()).unwrap().flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// What the workload does while its log is full, and after there is room again.
const FULL: &str = r#"
step() { while [ ! -e go-$1 ]; do :; done; }
touch ready
step 1
# What room the log had promised itself is used up by records of the same kind.
n=0; while true < public && [ $n -lt 20000 ]; do n=$((n + 1)); done 2> /dev/null
echo "refused after $n"
mkdir made-while-full; true > written-while-full; rm precious; mv other moved; true > truncated
python3 -c 'print("ran")' && echo "ran while full"
cat public && echo "read while full"
echo "done while full"; step 2
mkdir made-after; cat public && echo "read after"
exit 0
"#;

/// A run whose log lies on a small file system of its own, which the test can fill.
struct Tight {
    run: Supervised,
    child: Child,
    /// What the workload prints.
    lines: Lines<BufReader<ChildStdout>>,
    printed: String,
}

impl Tight {
    fn start(run: Supervised, size: &str, program: &[&str]) -> Self {
        let log = run.log_directory();
        std::fs::create_dir(&log).unwrap();
        let outcallctl = run.command(program);
        let words: Vec<_> =
            std::iter::once(outcallctl.get_program()).chain(outcallctl.get_args()).collect();
        let script = format!("mount -t tmpfs -o size={size} none {} && exec \"$@\"", log.display());
        let mut child = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", &script, "sh"])
            .args(words)
            .current_dir(run.workspace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&run.workspace().join("ready"));
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { run, child, lines, printed: String::new() }
    }

    /// The log directory in the run's own mount namespace.
    fn log(&self) -> PathBuf {
        format!("/proc/{}/root{}", self.child.id(), self.run.log_directory().display()).into()
    }

    fn fill(&self) {
        let filler = format!("of={}", self.log().join("filler").display());
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/zero", "bs=512", &filler]).stderr(Stdio::null()).status().unwrap();
    }

    /// Lets the workload go on, and returns once it has done everything it does on a full log.
    fn let_it_try(&mut self) {
        self.touch("go-1");
        for line in self.lines.by_ref().map_while(Result::ok) {
            if line == "done while full" {
                return;
            }
            self.printed += &format!("{line}\n");
        }
        panic!("the workload ended early: {}", self.printed);
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.run.workspace().join(name), "").unwrap();
    }

    /// Makes room again, lets the workload end and returns what it printed.
    /// The run comes back too: its workspace lives as long as it does.
    fn finish(mut self) -> (String, Supervised) {
        std::fs::remove_file(self.log().join("filler")).unwrap();
        self.touch("go-2");
        let rest: String =
            self.lines.map_while(Result::ok).map(|line| format!("{line}\n")).collect();
        self.child.wait().unwrap();
        (self.printed + &rest, self.run)
    }
}

#[test]
fn a_full_log_refuses_everything_and_nothing_happens_unrecorded() {
    if !machine::require_root("full log") {
        return;
    }
    let run = Supervised::allowing_all();
    let workspace = run.workspace();
    for name in ["public", "precious", "other", "truncated"] {
        std::fs::write(workspace.join(name), name).unwrap();
    }
    let mut tight = Tight::start(run, "2m", &["/bin/sh", "-c", FULL]);
    tight.fill();
    tight.let_it_try();
    let exists = |name: &str| workspace.join(name).exists();
    let happened: Vec<&str> = ["made-while-full", "written-while-full", "moved"]
        .into_iter()
        .filter(|name| exists(name))
        .collect();
    let kept = exists("precious")
        && std::fs::read_to_string(workspace.join("truncated")).unwrap() == "truncated";
    let (text, _run) = tight.finish();
    assert!(happened.is_empty() && kept, "unrecorded: {happened:?}, kept: {kept}");
    assert!(!text.contains("ran") && !text.contains("read while full"), "{text}");
    assert!(text.contains("read after") && exists("made-after"), "{text}");
}

/// Sixty-four threads make directories at once whose records are as long as records can be.
const LARGE: &str = r#"
import os, threading
base = os.path.join(os.getcwd(), *['\x01' * 240] * 15)
open('ready', 'w').close()
while not os.path.exists('go-1'): pass
def make(start, number):
    start.wait()
    try: os.mkdir(base + '/%05d' % number)
    except OSError: pass
for round in range(12):
    start = threading.Barrier(64)
    threads = [threading.Thread(target=make, args=(start, round * 64 + i)) for i in range(64)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
print('done while full', flush=True)
while not os.path.exists('go-2'): pass
"#;

#[test]
fn many_large_records_at_once_do_not_outrun_a_full_log() {
    if !machine::require_root("full log") {
        return;
    }
    let run = Supervised::allowing_all();
    let base: PathBuf =
        std::iter::once(run.workspace()).chain(vec!["\x01".repeat(240).into(); 15]).collect();
    std::fs::create_dir_all(&base).unwrap();
    let mut tight = Tight::start(run, "4m", &["/usr/bin/python3", "-c", LARGE]);
    tight.fill();
    tight.let_it_try();
    let made = std::fs::read_dir(&base).unwrap().count();
    let files = std::fs::read_dir(tight.log()).unwrap().flatten().map(|entry| entry.path());
    let text: String = files
        .filter(|f| !f.ends_with("filler"))
        .filter_map(|f| std::fs::read_to_string(f).ok())
        .collect();
    let recorded = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line["syscall"] == "mkdir" && line["errno"].is_null())
        .count();
    tight.finish();
    println!("{made} made, {recorded} recorded");
    assert!(made <= recorded, "{made} directories made, {recorded} recorded");
}

fn wait_for(path: &std::path::Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "{} did not appear", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}
