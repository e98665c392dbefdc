//! `outcallctl run`: a private supervisor for the life of one program.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use anyhow::{Context, bail};

use super::arguments::{ModeArgument, RunArguments};
use crate::api::agent::{Door, receive, serve_shim};
use crate::attach::entrance::AGENT_SOCKET;
use crate::attach::session::Mode;
use crate::daemon::{load_profile, sealed_paths, start_record};
use crate::identity::{Peer, Process};
use crate::judge::rules::{Rules, Watch};
use crate::record::{Recorder, sentence};

mod foreground;
mod notices;
mod remains;

/// The shell's codes for a command that is not there, or cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;
/// Refusals that wait for the screen; past that some are only in the log.
const NOTICES: usize = 4096;

pub(super) fn run(arguments: RunArguments) -> anyhow::Result<u8> {
    let program = arguments.command.first().filter(|program| !program.is_empty());
    let program = program.context("no command given; try: outcallctl run -- CMD ARGS…")?;
    if let Some(code) = cannot_run(program) {
        return Ok(code);
    }
    let shim = find_shim()?;
    let mode = match arguments.mode {
        ModeArgument::Enforce => Mode::Enforce,
        ModeArgument::Observe => Mode::Observe,
    };
    let default_profile = if mode == Mode::Observe { "observe" } else { "default" };
    let profile = load_profile(arguments.profile.as_deref().unwrap_or(default_profile))?;
    let rules = Arc::new(Rules::load(&arguments.rules)?);
    let workspace = std::env::current_dir()
        .and_then(|directory| directory.canonicalize())
        .context("cannot tell the current directory")?;
    let log = match &arguments.log {
        Some(directory) => directory.clone(),
        None => new_log_directory()?,
    };
    let (send, receive) = sync_channel(NOTICES);
    let recorder = Arc::new(Recorder::open(&log, Some(send))?);
    recorder.control("start", start_record(&rules, mode.as_str()))?;
    let workspace = crate::resolve::names::text(workspace.as_os_str().as_bytes());
    // Nothing supervised asks a daemon either, should one run here.
    let host_socket = Path::new(crate::config::HOST_SOCKET);
    let sealed = sealed_paths(recorder.directory(), Some(host_socket));
    let door = Arc::new(Door::new(rules, recorder, profile, mode, &sealed, Some(workspace)));
    crate::sys::signal::install_nudge().context("cannot install the worker signal")?;
    // Before any thread exists: one that left them open would swallow them.
    let signals = foreground::Signals::block()?;
    // Where a daemon answers, `tail` alone would show its log.
    let daemon = super::host::is_served(Path::new(crate::config::HOST_SOCKET));
    let named = arguments.log.clone().or_else(|| daemon.then(|| log.clone()));
    let printer = notices::print(receive, arguments.json, named);
    let watch = Watch::start(&door.rules, &door.recorder);
    let code = supervise(&door, &shim, &arguments.command, &signals);
    // No change of rules after the last record.
    drop(watch);
    let _ = door.recorder.control("stop", crate::daemon::stop_record(true));
    // The door holds the sending end; without it the printer has nothing left to wait for.
    door.recorder.close_notices();
    let _ = printer.join();
    code
}

/// Starts the shim on one end of a socket pair and serves the other until it has ended.
fn supervise(
    door: &Arc<Door>,
    shim: &Path,
    command: &[OsString],
    signals: &foreground::Signals,
) -> anyhow::Result<u8> {
    remains::adopt_orphans().context("cannot adopt orphans")?;
    let entrance = door.open_entrance(None)?;
    let (ours, theirs) = UnixStream::pair().context("cannot make a socket pair")?;
    let theirs = OwnedFd::from(theirs);
    let child = start_shim(shim, &theirs, command, signals)?;
    drop(theirs);
    let pid = child.id().cast_signed();
    // Nobody has waited for it, so the number is its own.
    let shim = Process::open(pid).context("cannot take hold of the shim")?;
    door.embed(pid, agent_name(command))
        .map_err(|refusal| anyhow::anyhow!("cannot register the run: {}", refusal.message))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the API's runtime")?;
    ours.set_nonblocking(true)?;
    let (stream, entrance) = {
        let _inside = runtime.enter();
        (tokio::net::UnixStream::from_std(ours)?, tokio::net::UnixListener::from_std(entrance)?)
    };
    let peer = Peer::started(shim, nix::unistd::getuid().as_raw());
    runtime.spawn(receive(entrance, door.clone()));
    runtime.spawn(serve_shim(stream, door.clone(), peer));
    let code = signals.wait_for(pid)?;
    remains::kill_all();
    door.wait_for_sessions();
    runtime.shutdown_background();
    Ok(code)
}

fn start_shim(
    shim: &Path,
    connection: &OwnedFd,
    command: &[OsString],
    signals: &foreground::Signals,
) -> anyhow::Result<Child> {
    let number = connection.as_raw_fd();
    rustix::io::fcntl_setfd(connection, rustix::io::FdFlags::empty())?;
    let mut start = Command::new(shim);
    start.args(["run", "--connected", &number.to_string(), "--"]).args(command);
    // For clients that are told where to connect; the shim itself looks nowhere else.
    start.env("OUTCALL_AGENT_SOCKET", AGENT_SOCKET);
    signals.restore_in(&mut start);
    let child = start.spawn().with_context(|| format!("cannot start the shim {}", shim.display()));
    rustix::io::fcntl_setfd(connection, rustix::io::FdFlags::CLOEXEC)?;
    child
}

/// The agent of a run is called what its command is called.
fn agent_name(command: &[OsString]) -> String {
    let program = command.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    crate::resolve::names::text(program.as_bytes())
}

/// The shim lies beside this program, or where it is installed.
fn find_shim() -> anyhow::Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("outcall-agent");
    let installed = [PathBuf::from("/usr/local/bin/outcall"), "/usr/libexec/outcall-agent".into()];
    std::iter::once(beside.clone()).chain(installed).find(|path| path.is_file()).with_context(
        || format!("the shim is not at {}; build it with: make build", beside.display()),
    )
}

/// Says at once what a shell would say about a command that cannot be started.
fn cannot_run(program: &OsStr) -> Option<u8> {
    let executable = |path: &Path| {
        path.metadata()
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let shown = sentence::printable(&program.to_string_lossy());
    if program.as_bytes().contains(&b'/') {
        let path = Path::new(program);
        if executable(path) {
            return None;
        }
        return Some(if path.exists() {
            eprintln!("outcallctl: cannot run '{shown}': not an executable file");
            NOT_EXECUTABLE
        } else {
            eprintln!("outcallctl: cannot run '{shown}': no such file");
            NOT_FOUND
        });
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    if std::env::split_paths(&path).any(|directory| executable(&directory.join(program))) {
        return None;
    }
    eprintln!("outcallctl: cannot run '{shown}': not found in PATH");
    Some(NOT_FOUND)
}

/// Where an ordinary user's runs keep their logs.
pub(super) fn state_directory() -> anyhow::Result<PathBuf> {
    let base = match std::env::var_os("XDG_STATE_HOME") {
        Some(base) if Path::new(&base).is_absolute() => PathBuf::from(base),
        _ => match std::env::var_os("HOME") {
            Some(home) if !home.is_empty() => PathBuf::from(home).join(".local/state"),
            _ => bail!(
                "neither XDG_STATE_HOME nor HOME is set; say where the log goes with --log DIR"
            ),
        },
    };
    Ok(base.join("outcall"))
}

/// A directory for this run, and `latest` pointing at it.
fn new_log_directory() -> anyhow::Result<PathBuf> {
    let state = state_directory()?;
    let name =
        format!("{}-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S"), std::process::id());
    let directory = state.join("runs").join(&name);
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .with_context(|| format!("cannot create the log directory {}", directory.display()))?;
    let link = state.join(format!("latest.{}", std::process::id()));
    let _ = std::os::unix::fs::symlink(Path::new("runs").join(&name), &link);
    let _ = std::fs::rename(&link, state.join("latest"));
    Ok(directory)
}
