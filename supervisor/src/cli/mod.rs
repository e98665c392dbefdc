//! The commands: `outcallctl` and the flags of `outcalld`.

mod arguments;
mod asks;
mod events;
mod host;
mod man;
mod profile;
mod ps;
mod reload;
mod requests;
mod rules;
mod run;
mod screen;
mod settings;
mod status;
mod table;
mod tail;
mod why;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{ApiCommand, Command, DaemonArguments, OperatorArguments};

use crate::config::Config;

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
        Command::Ps(host) => ps::ps(&host).map(|()| 0),
        Command::Why(why) => why::why(&why).map(|()| 0),
        Command::Requests(requests) => requests::requests(requests),
        Command::Asks(asks) => asks::asks(asks).map(|()| 0),
        Command::Config(config) => settings::config(config).map(|()| 0),
        Command::Man { directory } => man::write(&directory).map(|()| 0),
        Command::Rules(rules) => rules::rules(rules),
        Command::Api(ApiCommand::Schema) => {
            println!("{:#}", crate::api::agent::openapi());
            Ok(0)
        }
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
    let file = arguments.config.clone();
    let result = Config::resolve(arguments.layer(), file.as_deref())
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
