//! The end of everything that the workload started.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::log;
use crate::sys::process::{self, Event, Wait, own_pid};

/// How long the tree may take to stand still, before killing starts anyway.
const FREEZE_LIMIT: Duration = Duration::from_millis(400);
/// A process that outlives SIGKILL this long sits in the kernel and will die on its way out.
const PATIENCE: Duration = Duration::from_secs(5);

/// One process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy)]
struct Entry {
    pid: i32,
    parent: i32,
    zombie: bool,
}

impl Entry {
    fn read(pid: i32) -> Option<Self> {
        Self::parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name may hold anything, parentheses and newlines too, so fields count from the last `)`.
    fn parse(stat: &[u8]) -> Option<Self> {
        let close = stat.iter().rposition(|b| *b == b')')?;
        let pid = std::str::from_utf8(stat.split(|b| *b == b' ').next()?).ok()?.parse().ok()?;
        let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let zombie = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        Some(Self { pid, parent, zombie })
    }
}

/// Every living process below `root`, found by one look at all processes.
fn scan(root: i32) -> io::Result<Vec<i32>> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    let all: Vec<Entry> = pids.filter_map(Entry::read).collect();
    let mut family = HashSet::from([root]);
    loop {
        let before = family.len();
        for entry in &all {
            if family.contains(&entry.parent) {
                family.insert(entry.pid);
            }
        }
        if family.len() == before {
            break;
        }
    }
    family.remove(&root);
    Ok(all.iter().filter(|e| family.contains(&e.pid) && !e.zombie).map(|e| e.pid).collect())
}

/// The children of `pid`, by the kernel's own lists; an error where the kernel keeps none.
fn children(pid: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let list = fs::read_to_string(thread.path().join("children"))?;
        found.extend(list.split_ascii_whitespace().filter_map(|word| word.parse::<i32>().ok()));
    }
    Ok(found)
}

/// Stops everything below `root` and lists it. Nothing is killed or reaped before the whole tree
/// stands still: every slot that a death frees is one that a fork storm fills again.
fn freeze(root: i32) -> io::Result<Vec<i32>> {
    let deadline = Instant::now() + FREEZE_LIMIT;
    let mut stopped = HashSet::new();
    loop {
        let before = stopped.len();
        let found = stop_below(root, &mut stopped)?;
        if stopped.len() == before || Instant::now() > deadline {
            return Ok(found);
        }
    }
}

/// One walk, parents first: a stopped parent has no further children and reaps none, so what is
/// listed below it stays what it is while it is signalled by number.
fn stop_below(root: i32, stopped: &mut HashSet<i32>) -> io::Result<Vec<i32>> {
    let mut found = children(root)?;
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        if stopped.insert(pid) {
            let _ = process::kill(pid, libc::SIGSTOP);
        }
        found.extend(children(pid).unwrap_or_default());
    }
    Ok(found)
}

/// Kills and reaps every descendant. Orphans come to us, since we are their subreaper, so this ends
/// when there is no child left. Without `/proc` only `workload`, not reaped yet, is known.
pub(crate) fn kill_descendants(mut workload: Option<i32>) {
    let own = own_pid();
    let begin = Instant::now();
    let (mut killed, mut last_new) = (HashSet::new(), begin);
    process::hurry();
    while !reap_all(&mut workload) {
        let mut living = freeze(own).or_else(|_| scan(own)).unwrap_or_default();
        if living.is_empty() {
            living.extend(workload.filter(|pid| !killed.contains(pid)));
        }
        for pid in living {
            let _ = process::kill(pid, libc::SIGKILL);
            if killed.insert(pid) {
                last_new = Instant::now();
            }
        }
        if own == 1 {
            let _ = process::kill(-1, libc::SIGKILL);
        }
        if last_new.elapsed() > PATIENCE {
            log::error(
                "some processes do not die: stuck in the kernel, or not to be seen in /proc",
            );
            return;
        }
        thread::sleep(Duration::from_micros(500));
    }
    log::debug(&format!("killed {} processes in {:?}", killed.len(), begin.elapsed()));
}

/// Reaps what has ended; true when no child is left. The number of a reaped child may be anybody's.
fn reap_all(workload: &mut Option<i32>) -> bool {
    loop {
        match process::wait_any() {
            Wait::NoChildren => return true,
            Wait::Nothing => return false,
            Wait::News(pid, Event::Exited(_) | Event::Killed(_)) => {
                *workload = workload.filter(|known| *known != pid);
            }
            Wait::News(_, Event::Stopped(_) | Event::Continued) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn names_cannot_confuse_the_parser() {
        let tail = "0 0 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0";
        let stat = format!("42 (a) R 1 (b\n) S 7 {tail}");
        let entry = Entry::parse(stat.as_bytes()).unwrap();
        assert_eq!((entry.pid, entry.parent, entry.zombie), (42, 7, false));
        assert!(Entry::parse(format!("42 (x) Z 7 {tail}").as_bytes()).unwrap().zombie);
        assert!(Entry::parse(b"42 x").is_none());
    }

    #[test]
    fn both_ways_find_the_whole_tree() {
        let mut top = Command::new("sh")
            .args(["-c", "sh -c 'sleep 300 & sleep 300 & wait' & setsid sleep 300 & wait"])
            .spawn()
            .unwrap();
        let root = top.id() as i32;
        let deadline = Instant::now() + Duration::from_secs(5);
        while scan(root).unwrap().len() < 4 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let mut scanned = scan(root).unwrap();
        let mut frozen = freeze(root).unwrap();
        scanned.sort_unstable();
        frozen.sort_unstable();
        assert_eq!(scanned, frozen);
        assert_eq!(frozen.len(), 4);
        frozen.iter().for_each(|pid| process::kill(*pid, libc::SIGKILL).unwrap());
        top.kill().unwrap();
        top.wait().unwrap();
        while frozen.iter().any(|pid| Entry::read(*pid).is_some_and(|entry| !entry.zombie)) {
            assert!(Instant::now() < deadline);
            thread::sleep(Duration::from_millis(5));
        }
    }
}
