//! The daemon: sockets, signals, privileges.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use caps::{CapSet, Capability, CapsHashSet};
use seccomp_profiles::{Profile, compile};
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::api::agent::{self, Door, NamedFilter, receive};
use crate::api::host::{Office, Operators, listen};
use crate::config::Config;
use crate::identity::docker::{self, Docker};
use crate::identity::registry::Sources;
use crate::judge::asks::Asks;
use crate::judge::rules::{Rules, STACK_BYTES, Trigger, Watch};
use crate::record::Recorder;
use crate::requests::Requests;

mod sockets;

use sockets::{Bound, Sockets};

/// What doing a call as somebody else, and checking it, can need. Everything else is dropped.
const NEEDED: &[Capability] = &[
    Capability::CAP_CHOWN,
    Capability::CAP_DAC_OVERRIDE,
    Capability::CAP_DAC_READ_SEARCH,
    Capability::CAP_FOWNER,
    Capability::CAP_FSETID,
    Capability::CAP_KILL,
    Capability::CAP_LEASE,
    Capability::CAP_MKNOD,
    Capability::CAP_NET_BIND_SERVICE,
    Capability::CAP_SETGID,
    Capability::CAP_SETUID,
    Capability::CAP_SYS_PTRACE,
];

/// Runs the daemon until SIGTERM.
pub(crate) fn run(config: &Config) -> anyhow::Result<()> {
    let started = jiff::Timestamp::now();
    crate::sys::signal::install_nudge().context("cannot install the worker signal")?;
    crate::sys::spawn::raise_descriptor_limit().context("cannot raise the descriptor limit")?;
    let requests = Arc::new(Requests::open(&config.state)?);
    requests.repair(&config.rules)?;
    let rules = Arc::new(Rules::load_with(&config.rules, Some(requests.approved()))?);
    let recorder = Arc::new(Recorder::open(&config.log, None)?);
    let profile = load_profile(&config.profile)?;
    let Bound { sockets, agent, host } = Sockets::bind(config)?;
    drop_privileges().context("cannot drop privileges")?;
    let mut sealed = sealed_paths(&config.log, Some(&config.host_socket));
    sealed.push(config.state.clone());
    let door = Door::new(rules.clone(), recorder.clone(), profile, config.mode, &sealed, None);
    let mut door = door.with(config.limits.clone(), sources(config));
    door.asks = Arc::new(Asks::new(Duration::from_secs(config.ask_seconds)));
    let door = Arc::new(door);
    door.take_requests(requests);
    let entrance = door.open_entrance(Some(&config.agent_socket))?;
    recorder.control("start", start_record(&rules, config.mode.as_str()))?;
    let watch = Watch::start(&rules, &recorder);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .context("cannot start the API's runtime")?;
    let operators = Operators::new(&config.operator_uids, &config.operator_gids);
    let office = Arc::new(Office::new(door.clone(), operators, started));
    let (host, entrance) = {
        let _inside = runtime.enter();
        (UnixListener::from_std(host)?, UnixListener::from_std(entrance)?)
    };
    runtime.spawn(listen(host, office));
    runtime.spawn(receive(entrance, door.clone()));
    if let Some(docker) = &door.registry.sources.docker {
        let tokens = Arc::downgrade(&door.registry.tokens);
        runtime.spawn(docker::events::follow(docker.clone(), tokens));
    }
    tracing::info!(socket = %config.agent_socket.display(), "serving");
    let result = runtime.block_on(accept_until_told(agent, &door));
    door.drain();
    let drained = door.clone();
    let waiting = runtime.spawn_blocking(move || {
        drained.wait_for_sessions();
        drained.wait_for_shims();
    });
    let limit = Duration::from_secs(config.drain_seconds);
    let all_gone = runtime.block_on(async { tokio::time::timeout(limit, waiting).await }).is_ok();
    sockets.remove();
    // No change of rules after the last record.
    drop(watch);
    recorder.control("stop", stop_record(all_gone))?;
    runtime.shutdown_background();
    result
}

/// Loads a profile by name or from a file, and compiles it.
pub(crate) fn load_profile(name: &str) -> anyhow::Result<NamedFilter> {
    let profile = find_profile(name)?;
    let filter = compile(&profile).with_context(|| format!("profile '{name}' does not compile"))?;
    Ok(NamedFilter { name: name.to_owned(), filter })
}

/// A built-in profile by name, or one from a file.
pub(crate) fn find_profile(name: &str) -> anyhow::Result<Profile> {
    if let Some(profile) = Profile::builtin(name) {
        return Ok(profile);
    }
    let looks_like_path = name.contains('/') || name.ends_with(".json");
    if !looks_like_path {
        let names = Profile::builtin_names();
        let hint = crate::config::nearest(name, names)
            .map(|near| format!("; did you mean '{near}'?"))
            .unwrap_or_default();
        bail!(
            "unknown profile '{name}'{hint} (known: {}; or a path to a JSON file)",
            names.join(", ")
        );
    }
    let text =
        std::fs::read_to_string(name).with_context(|| format!("cannot read profile {name}"))?;
    Profile::parse(&text).with_context(|| format!("profile {name}"))
}

/// What no supervised program may touch.
pub(crate) fn sealed_paths(log: &Path, host_socket: Option<&Path>) -> Vec<PathBuf> {
    std::iter::once(log).chain(host_socket).map(Path::to_owned).collect()
}

pub(crate) fn start_record(rules: &Rules, mode: &str) -> serde_json::Value {
    let current = rules.current();
    serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"),
        "mode": mode,
        "policy": { "digest": current.engine.digest(), "generation": current.generation },
    })
}

/// `drained`: every session had ended by itself.
pub(crate) fn stop_record(drained: bool) -> serde_json::Value {
    serde_json::json!({ "drained": drained, "self_denied": crate::receive::self_denied() })
}

async fn accept_until_told(
    listener: std::os::unix::net::UnixListener,
    door: &Arc<Door>,
) -> anyhow::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut reload = signal(SignalKind::hangup())?;
    let mut serving = tokio::spawn(agent::listen(listener, door.clone()));
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = reload.recv() => reload_rules(door.clone()),
            _ = &mut serving => break,
        }
    }
    // Nobody listens from here on.
    serving.abort();
    let _ = serving.await;
    Ok(())
}

/// Where identities come from.
fn sources(config: &Config) -> Sources {
    let docker = Docker::new(&config.docker_socket, config.attached.clone());
    Sources {
        host_sessions: config.host_sessions,
        oci: config.oci_state.clone(),
        docker: Some(Arc::new(docker)).filter(|_| !config.docker_socket.as_os_str().is_empty()),
        lookups: config.limits.lookups,
        sessions: config.limits.sessions,
    }
}

/// Reads files, so it keeps nobody waiting. What comes of it is on record and in the log.
fn reload_rules(door: Arc<Door>) {
    tokio::task::spawn_blocking(move || drop(door.rules.reload(Trigger::Hangup, &door.recorder)));
}

/// Keeps only the capabilities of [`NEEDED`], and gains none ever after.
fn drop_privileges() -> anyhow::Result<()> {
    nix::sys::prctl::set_no_new_privs()?;
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept: CapsHashSet = NEEDED.iter().copied().filter(|cap| permitted.contains(cap)).collect();
    caps::clear(None, CapSet::Ambient)?;
    caps::clear(None, CapSet::Inheritable)?;
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)?;
    Ok(())
}
