//! The commands: `outcallctl` and the flags of `outcalld`.

mod arguments;
mod host;
mod profile;
mod reload;
mod rules;
mod run;
mod status;
mod tail;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Command, DaemonArguments, OperatorArguments};

use crate::config::{Config, Layer};

/// Exit codes: 0 fine, 1 failure, 2 usage; `rules` has more.
const FAILURE: u8 = 1;

/// `outcallctl`.
#[must_use]
pub fn operator() -> ExitCode {
    let arguments = OperatorArguments::parse();
    start_tracing("warn");
    let result = match arguments.command {
        Command::Run(run) => run::run(run),
        Command::Tail(tail) => tail::tail(&tail).map(|()| 0),
        Command::Profile(profile) => profile::profile(profile),
        Command::Status(status) => status::status(&status).map(|()| 0),
        Command::Rules(rules) => rules::rules(rules),
        Command::Completions { shell } => {
            let mut command = OperatorArguments::command();
            clap_complete::generate(shell, &mut command, "outcallctl", &mut std::io::stdout());
            Ok(0)
        }
    };
    finish("outcallctl", result)
}

/// `outcalld`.
#[must_use]
pub fn daemon() -> ExitCode {
    let arguments = DaemonArguments::parse();
    start_tracing("info");
    let flags = Layer {
        agent_socket: arguments.agent_socket,
        agent_socket_mode: arguments.agent_socket_mode,
        host_socket: arguments.host_socket,
        host_socket_mode: arguments.host_socket_mode,
        log: arguments.log,
        rules: (!arguments.rules.is_empty()).then_some(arguments.rules),
        profile: arguments.profile,
        mode: arguments.mode,
        drain_seconds: arguments.drain_seconds,
        host_sessions: arguments.host_sessions.then_some(true),
        docker_socket: arguments.docker_socket,
        ..Layer::default()
    };
    let result = Config::resolve(flags, arguments.config.as_deref())
        .map_err(anyhow::Error::from)
        .and_then(|config| crate::daemon::run(&config))
        .map(|()| 0);
    finish("outcalld", result)
}

fn finish(name: &str, result: anyhow::Result<u8>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{name}: {error:#}");
            ExitCode::from(FAILURE)
        }
    }
}

/// Diagnostics go to stderr; `RUST_LOG` says how many.
fn start_tracing(default: &str) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    let _ =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_do_not_contradict_each_other() {
        OperatorArguments::command().debug_assert();
        DaemonArguments::command().debug_assert();
    }
}
