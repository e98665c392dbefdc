//! Under a real terminal: signals, job control, window size, input.

use std::process::{Command, Stdio};

use integration::Supervised;

/// Plays a person at a terminal: each step waits for a text, then types; what was shown comes back.
const PERSON: &str = r#"
import fcntl, json, os, pty, select, struct, sys, termios, time
plan = json.loads(sys.argv[1])
pid, master = pty.fork()
if pid == 0:
    os.environ['PS1'] = '$ '
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 77, 0, 0))
shown, at, end = b'', 0, time.time() + 25
def pump(timeout):
    global shown
    ready, _, _ = select.select([master], [], [], timeout)
    if ready:
        try: data = os.read(master, 65536)
        except OSError: return False
        if not data: return False
        shown += data
    return True
alive = True
for wanted, typed in plan:
    while alive and wanted.encode() not in shown[at:] and time.time() < end:
        alive = pump(0.1)
    found = shown.find(wanted.encode(), at)
    if found < 0:
        print('MISSING', repr(wanted)); break
    at = found + len(wanted)
    time.sleep(0.2)
    if typed.startswith('size '):
        rows, columns = map(int, typed.split()[1:])
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
    elif typed:
        os.write(master, typed.encode())
while alive and time.time() < end:
    alive = pump(0.1)
if alive:
    print('STUCK')
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
sys.stdout.flush()
os.write(1, shown)
print('\nCODE', os.waitstatus_to_exitcode(status))
"#;

/// Runs a command line at a terminal; `steps` are (text to wait for, keys to type).
fn at_terminal(run: &Supervised, line: &[&str], steps: &[(&str, &str)]) -> String {
    let output = Command::new("python3")
        .args(["-c", PERSON, &serde_json::to_string(steps).unwrap()])
        .args(line)
        .current_dir(run.workspace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("STUCK") && !text.contains("MISSING"), "{text}\n{error}");
    text
}

/// `outcallctl run … -- CMD` as words.
fn supervised(run: &Supervised, command: &[&str]) -> Vec<String> {
    let command = run.command(command);
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

fn directly(run: &Supervised, command: &[&str], steps: &[(&str, &str)]) -> String {
    let words = supervised(run, command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    at_terminal(run, &words, steps)
}

/// The command inside a shell with job control, as a person starts it.
fn from_a_shell(run: &Supervised, command: &[&str], steps: &[(&str, &str)]) -> String {
    let words = supervised(run, command);
    let quoted: Vec<String> =
        words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    std::fs::write(run.workspace().join("start"), quoted.join(" ")).unwrap();
    let bash = ["bash", "--norc", "--noprofile", "-i"];
    let mut all = vec![("$ ", ". ./start\r")];
    all.extend(steps);
    at_terminal(run, &bash, &all)
}

#[test]
fn an_interrupt_reaches_the_command_once_and_its_code_comes_back() {
    let run = Supervised::allowing_all();
    let script = "n=0; trap 'n=$((n + 1)); echo caught $n' INT; echo ready; \
                  while [ ! -e end ]; do sleep 0.1; [ $n -gt 0 ] && sleep 1 && break; done; \
                  echo total $n; exit 17";
    let text = directly(&run, &["/bin/sh", "-c", script], &[("ready", "\x03")]);
    assert!(text.contains("total 1") && text.contains("CODE 17"), "{text}");
}

#[test]
fn an_interrupted_command_without_a_handler_dies_of_it() {
    let run = Supervised::allowing_all();
    let text = directly(&run, &["/bin/sh", "-c", "echo ready; sleep 20"], &[("ready", "\x03")]);
    assert!(text.contains("CODE 130"), "{text}");
}

#[test]
fn a_stopped_job_stops_as_a_whole_and_goes_on_in_the_foreground() {
    let run = Supervised::allowing_all();
    let script = "echo ready; i=0; while [ $i -lt 600 ] && [ ! -e end ]; do i=$((i + 1)); \
                  echo x >> beat; sleep 0.05; done; echo finished; exit 5";
    let check = "stat -c 'size %s' beat; sleep 0.5; stat -c 'size %s' beat; echo looked\r";
    let steps = [
        ("ready", "\x1a"),
        ("Stopped", check),
        ("looked\r\n", "touch end; fg\r"),
        ("finished", "echo code $?\r"),
        ("code 5", "exit\r"),
    ];
    let text = from_a_shell(&run, &["/bin/sh", "-c", script], &steps);
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_digit).collect::<String>();
    let sizes: Vec<String> =
        text.split("size ").skip(1).map(digits).filter(|digits| !digits.is_empty()).collect();
    assert_eq!(sizes.len(), 2, "{text}");
    assert_eq!(sizes[0], sizes[1], "it ran on while stopped: {text}");
}

#[test]
fn a_stopped_job_can_be_stopped_again_and_interrupted() {
    let run = Supervised::allowing_all();
    let script = "echo ready; while [ ! -e end ]; do sleep 0.05; done";
    // bash shows the command whenever it stops or goes on.
    let steps = [
        ("ready", "\x1a"),
        ("Stopped", ""),
        ("done'", "fg\r"),
        ("done'", "\x1a"),
        ("Stopped", ""),
        ("done'", "fg\r"),
        ("done'", "\x03"),
        ("$ ", "echo code $?\r"),
        ("code 130", "exit\r"),
    ];
    from_a_shell(&run, &["/bin/sh", "-c", script], &steps);
}

#[test]
fn the_size_of_the_window_and_its_changes_reach_the_command() {
    let run = Supervised::allowing_all();
    let script = "trap 'echo changed; stty size; exit 8' WINCH; stty size; echo ready; \
                  i=0; while [ $i -lt 200 ]; do i=$((i + 1)); sleep 0.05; done";
    let text = directly(&run, &["bash", "-c", script], &[("ready", "size 44 99")]);
    assert!(text.contains("changed") && text.contains("44 99"), "{text}");
    assert!(text.contains("CODE 8"), "{text}");
}

#[test]
fn what_is_typed_reaches_the_command() {
    let run = Supervised::allowing_all();
    let script = "printf 'name? '; read name < /dev/tty; echo hello $name; [ -t 0 ] && tty; exit 2";
    let text = directly(&run, &["/bin/sh", "-c", script], &[("name? ", "world\r")]);
    assert!(text.contains("hello world") && text.contains("/dev/pts/"), "{text}");
    assert!(text.contains("CODE 2"), "{text}");
}

#[test]
fn job_control_works_inside_a_supervised_shell() {
    let run = Supervised::allowing_all();
    let steps = [
        ("$ ", "sleep 30\r"),
        ("sleep 30", "\x1a"),
        ("Stopped", "bg\r"),
        ("sleep 30 &", "jobs\r"),
        ("Running", "kill %1; sleep 0.3; echo ki''lled\r"),
        ("killed", "sleep 30\r"),
        ("sleep 30", "\x03"),
        ("$ ", "echo code $?\r"),
        ("code 130", "exit 9\r"),
    ];
    let text = directly(&run, &["bash", "--norc", "--noprofile", "-i"], &steps);
    assert!(text.contains("CODE 9"), "{text}");
    assert!(!text.contains("no job control"), "{text}");
}

#[test]
fn a_closed_terminal_ends_the_command() {
    let run = Supervised::allowing_all();
    let script = "echo x >> beat; echo ready; while :; do echo x >> beat; sleep 0.05; done";
    let words = supervised(&run, &["/bin/sh", "-c", script]);
    let hang_up = "import os, pty, sys, time\n\
                   pid, master = pty.fork()\n\
                   if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n\
                   while b'ready' not in os.read(master, 999): pass\n\
                   os.close(master)\n\
                   for _ in range(100):\n\
                   \x20   if os.waitpid(pid, os.WNOHANG)[0]: sys.exit(0)\n\
                   \x20   time.sleep(0.05)\n\
                   os.kill(pid, 9)\n\
                   sys.exit('it runs on')\n";
    let status = Command::new("python3")
        .args(["-c", hang_up])
        .args(words)
        .current_dir(run.workspace())
        .status();
    assert!(status.unwrap().success());
    let size = || std::fs::metadata(run.workspace().join("beat")).unwrap().len();
    let before = size();
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert_eq!(size(), before);
}
