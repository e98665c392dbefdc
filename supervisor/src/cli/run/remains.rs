//! What a shim that was killed leaves behind: its orphans come to us, and end here.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// How long orphans may take to die.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes orphans of our descendants our children.
pub(super) fn adopt_orphans() -> nix::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)
}

/// Stops, kills and reaps every descendant. Normally there is none: the shim has done this.
pub(super) fn kill_all() {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let found = descendants();
        // All stand still before any dies, so that none has time for another child.
        for signal in [Signal::SIGSTOP, Signal::SIGKILL] {
            for pid in &found {
                let _ = kill(Pid::from_raw(*pid), signal);
            }
        }
        if reap() && found.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    tracing::error!("some processes of the run could not be ended");
}

/// Reaps what is dead; true when there is no child left.
fn reap() -> bool {
    // Only our own children: a worker may be tracing somebody.
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    loop {
        match waitpid(Pid::from_raw(-1), Some(flags)) {
            Err(Errno::ECHILD) => return true,
            Ok(WaitStatus::StillAlive) | Err(_) => return false,
            Ok(_) => {}
        }
    }
}

/// Every process below this one, as `/proc` tells now.
fn descendants() -> Vec<i32> {
    let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
    let parents: Vec<(i32, i32)> = processes
        .flatten()
        .filter_map(|process| process.stat().ok())
        .filter(|stat| stat.state != 'Z')
        .map(|stat| (stat.pid, stat.ppid))
        .collect();
    let mut found = vec![std::process::id().cast_signed()];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}
