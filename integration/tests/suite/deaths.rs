//! Whoever dies, and at whatever point: nothing is stuck, nothing leaks, nothing runs on.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use integration::{Supervised, probe};

fn start(run: &Supervised, script: &str) -> Child {
    let mut command = run.command(&["/bin/sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

#[track_caller]
fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn appears(path: &Path) {
    until(&path.display().to_string(), Duration::from_secs(30), || path.exists());
}

fn count(pid: u32, entries: &str) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/{entries}")).map_or(0, Iterator::count)
}

/// Processes whose command line contains the mark, but for the harness.
fn marked(mark: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| *pid != std::process::id().cast_signed())
        .filter(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(mark)
        })
        .collect()
}

fn children(pid: u32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    list.unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn signal(pid: i32, number: i32) {
    let sent = Command::new("kill").args([format!("-{number}"), pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// A name that only this test's processes have in their command lines.
fn mark(run: &Supervised) -> String {
    run.outside().file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn thousands_of_deaths_leave_no_thread_no_descriptor_and_no_stuck_task() {
    let run = Supervised::allowing_all();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let script = format!(
        "touch ready; while [ ! -e go ]; do sleep 0.05; done; {} 3500 {port}; \
         touch calm; while [ ! -e end ]; do sleep 0.05; done; exit 3",
        probe("attack_deaths").display()
    );
    let mut child = start(&run, &script);
    appears(&run.workspace().join("ready"));
    let pid = child.id();
    let (descriptors, threads) = (count(pid, "fd"), count(pid, "task"));
    std::fs::write(run.workspace().join("go"), "").unwrap();
    until("the storm ends", Duration::from_secs(120), || run.workspace().join("calm").exists());
    let back = || (count(pid, "fd"), count(pid, "task"));
    println!("before: {descriptors} fds, {threads} threads; right after: {:?}", back());
    // Workers come and go by a few; what grows with the dead would be far above.
    let settled = || {
        let (fds, tasks) = back();
        fds <= descriptors + 16 && tasks <= threads + 6
    };
    let began = Instant::now();
    while !settled() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let (settled, after) = (settled(), back());
    std::fs::write(run.workspace().join("end"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert!(settled, "before: {descriptors} fds, {threads} threads; after: {after:?}");
}

const DAEMON: &str = "(setsid sh -c 'trap \"\" HUP TERM INT; touch up; while :; do echo x >> beat; \
                      done' MARK &) ; while [ ! -e up ]; do sleep 0.01; done; touch ready; ";

fn daemonised(run: &Supervised, then: &str) -> Child {
    let child = start(run, &(DAEMON.replace("MARK", &mark(run)) + then));
    appears(&run.workspace().join("ready"));
    child
}

/// Nobody writes any more.
#[track_caller]
fn assert_still(run: &Supervised) {
    let size = || std::fs::metadata(run.workspace().join("beat")).map_or(0, |found| found.len());
    let before = size();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), before, "something runs on");
    let left = marked(&mark(run));
    assert!(left.is_empty(), "left: {left:?}");
}

#[test]
fn a_daemonised_child_dies_when_the_command_ends() {
    let run = Supervised::allowing_all();
    let mut child = daemonised(&run, "exit 4");
    assert_eq!(child.wait().unwrap().code(), Some(4));
    assert_still(&run);
}

#[test]
fn the_whole_tree_dies_when_the_supervisor_is_killed() {
    let run = Supervised::allowing_all();
    let mut child = daemonised(&run, "sleep 60");
    child.kill().unwrap();
    child.wait().unwrap();
    until("the tree is dead", Duration::from_secs(2), || marked(&mark(&run)).is_empty());
    assert_still(&run);
}

#[test]
fn a_stopped_tree_dies_too_when_the_supervisor_is_killed() {
    let run = Supervised::allowing_all();
    let mut child = daemonised(&run, "kill -STOP $$; touch resumed");
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    until("the tree is dead", Duration::from_secs(2), || marked(&mark(&run)).is_empty());
    assert_still(&run);
    assert!(!run.workspace().join("resumed").exists(), "the command ran on");
}

#[test]
fn the_whole_tree_dies_when_the_shim_is_killed() {
    let run = Supervised::allowing_all();
    let mut child = daemonised(&run, "sleep 60");
    let shim = children(child.id())[0];
    signal(shim, libc::SIGKILL);
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < Duration::from_secs(3) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (ended, left) = (child.try_wait().unwrap().is_some(), marked(&mark(&run)));
    // A test that fails leaves nothing running either.
    left.iter().for_each(|pid| signal(*pid, libc::SIGKILL));
    let _ = child.kill();
    let _ = child.wait();
    assert!(ended && left.is_empty(), "outcallctl ended: {ended}; left: {left:?}");
}

#[test]
fn signals_to_the_supervisor_reach_the_command() {
    for (name, number) in [("TERM", libc::SIGTERM), ("USR1", libc::SIGUSR1), ("HUP", libc::SIGHUP)]
    {
        let run = Supervised::allowing_all();
        let script = format!("trap 'exit 9' {name}; touch ready; while :; do sleep 0.05; done");
        let mut child = start(&run, &script);
        appears(&run.workspace().join("ready"));
        signal(child.id().cast_signed(), number);
        until(name, Duration::from_secs(5), || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(9), "{name}");
    }
}

#[test]
fn a_run_leaves_nothing_behind_but_its_log() {
    let run = Supervised::allowing_all();
    let names = |directory: &Path| {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let places = ["/run", "/tmp", "/dev/shm", "/var/tmp"].map(Path::new);
    let sockets = || std::fs::read_to_string("/proc/net/unix").unwrap().matches("outcall").count();
    let before = (places.map(names).map(|n| n.len()), sockets());
    run.shell("true").succeeded();
    let mut killed = start(&run, "sleep 60");
    std::thread::sleep(Duration::from_millis(300));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let stays = |(old, new): (usize, usize)| new <= old;
    // Other tests run beside this one: what stays more than a moment counts.
    until("everything is gone", Duration::from_secs(20), || {
        let after = places.map(names).map(|n| n.len());
        sockets() <= before.1 && before.0.into_iter().zip(after).all(stays)
    });
    assert_eq!(names(run.outside()), ["log", "rules", "workspace"]);
    assert_eq!(names(&run.workspace()).len(), 0);
}

#[test]
fn killing_the_shim_or_the_supervisor_from_inside_is_refused() {
    for number in ["KILL", "STOP", "TERM"] {
        let run = Supervised::allowing_all();
        let finished = run.shell(&format!(
            "sup=$(awk '/^PPid/ {{print $2}}' /proc/$PPID/status); \
             for pid in $PPID $sup; do kill -{number} $pid 2> /dev/null && echo sent $pid; done; \
             sleep 0.2; grep -H State /proc/$PPID/status /proc/$sup/status | grep -c ' T ' ; exit 6"
        ));
        assert_eq!(finished.code, Some(6), "{number}: {}{}", finished.out(), finished.err());
        assert!(!finished.out().contains("sent"), "{number}: {}", finished.out());
    }
}

/// Opens that wait for ever: how long another call takes meanwhile.
fn beside_blocked_opens(blocked: usize) -> Duration {
    let run = Supervised::allowing_all();
    let script = format!(
        "mkfifo fifo; i=0; while [ $i -lt {blocked} ]; do (cat < fifo) & i=$((i + 1)); done; \
         sleep 1; date +%s%N; i=0; while [ $i -lt 50 ]; do i=$((i + 1)); read x < /etc/hostname; \
         done; date +%s%N; kill $(jobs -p) 2> /dev/null; exit 0"
    );
    let finished = run.shell(&script);
    finished.succeeded();
    let text = finished.out();
    let times: Vec<u64> = text.lines().filter_map(|line| line.parse().ok()).collect();
    Duration::from_nanos(times[1] - times[0])
}

#[test]
fn blocked_opens_hold_up_nobody_else() {
    for blocked in [1, 100] {
        let taken = beside_blocked_opens(blocked);
        println!("50 opens beside {blocked} blocked ones: {taken:?}");
        assert!(taken < Duration::from_secs(2), "{blocked} blocked: {taken:?}");
    }
}

#[test]
fn an_open_that_waits_for_a_lease_holds_up_nobody_else() {
    let run = Supervised::allowing_all();
    let script = "\
import fcntl, os, signal, time, subprocess\n\
open('leased', 'w').write('x')\n\
signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
fd = os.open('leased', os.O_RDONLY)\n\
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)\n\
waiting = subprocess.Popen(['sh', '-c', 'echo y > leased'])\n\
time.sleep(0.5)\n\
assert waiting.poll() is None, 'nobody waits for the lease'\n\
began = time.time()\n\
for _ in range(50): open('/etc/hostname').close()\n\
print('quick' if time.time() - began < 2 else 'slow')\n\
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)\n\
print(waiting.wait())\n";
    let finished = run.run(&["python3", "-c", script]);
    assert_eq!(finished.out(), "quick\n0\n", "{}", finished.err());
}
