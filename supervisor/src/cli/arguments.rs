//! Every flag, its help and its completion, from one definition.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::Layer;

pub(super) mod host;
pub(super) mod rules;

/// Supervises what a program runs, reaches and opens, and explains every decision.
#[derive(Debug, Parser)]
#[command(name = "outcallctl", version, arg_required_else_help = true)]
pub(super) struct OperatorArguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a program under supervision: no daemon, no container, no root needed
    Run(RunArguments),
    /// Show the decision log
    Tail(TailArguments),
    /// Look into syscall profiles
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Show how the daemon is
    Status(HostArguments),
    /// List the sessions that run
    Ps(HostArguments),
    /// Say why a process or a container was refused something, and what to do next
    Why(host::WhyArguments),
    /// Look at the rules that agents ask for, and answer
    #[command(subcommand)]
    Requests(host::RequestsCommand),
    /// Look at calls that wait for an operator, and answer
    #[command(subcommand)]
    Asks(host::AsksCommand),
    /// Look at the daemon's configuration
    #[command(subcommand)]
    Config(host::ConfigCommand),
    /// Check, test, format and explain rules
    #[command(subcommand, after_help = rules::EXIT_CODES)]
    Rules(rules::RulesCommand),
    /// Look into the agent API
    #[command(subcommand)]
    Api(ApiCommand),
    /// Print a completion script
    Completions {
        /// The shell it is for
        shell: clap_complete::Shell,
    },
    /// Write the man pages into a directory
    #[command(hide = true)]
    Man {
        /// It is created where it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Whether decisions bind.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ModeArgument {
    /// Refuse what the rules refuse
    Enforce,
    /// Refuse nothing; record what would have been refused
    Observe,
}

#[derive(Args, Debug)]
pub(super) struct RunArguments {
    /// Rule file or directory, or `builtin`; may be given again [default: builtin]
    #[arg(long, value_name = "PATH")]
    pub(super) rules: Vec<PathBuf>,
    /// Syscall profile: a built-in name, or a JSON file [default: `default`, with --mode observe `observe`]
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) profile: Option<String>,
    /// Directory of the decision log [default: one of its own below the user's state directory]
    #[arg(long, value_name = "DIR")]
    pub(super) log: Option<PathBuf>,
    /// Whether decisions bind
    #[arg(long, value_enum, default_value = "enforce")]
    pub(super) mode: ModeArgument,
    /// Print refusals as JSON lines
    #[arg(long)]
    pub(super) json: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(super) command: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(super) struct TailArguments {
    /// Keep waiting for new records
    #[arg(short, long)]
    pub(super) follow: bool,
    /// Only refusals
    #[arg(long)]
    pub(super) denied: bool,
    /// Records as they are in the log
    #[arg(long)]
    pub(super) json: bool,
    /// Only the record with this number
    #[arg(long, value_name = "N")]
    pub(super) seq: Option<u64>,
    /// How many of the last records to show
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20)]
    pub(super) lines: usize,
    /// Directory of the decision log [default: the daemon is asked; without one the newer of its log and that of the latest run]
    #[arg(long, value_name = "DIR")]
    pub(super) log: Option<PathBuf>,
    /// The daemon's host socket
    #[arg(long, value_name = "PATH", env = "OUTCALL_HOST_SOCKET_PATH", default_value = crate::config::HOST_SOCKET)]
    pub(super) host_socket: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProfileCommand {
    /// List the built-in profiles
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a profile, or the filter it becomes
    Show {
        /// A built-in name, or a JSON file
        #[arg(value_name = "NAME|FILE")]
        profile: String,
        /// pfc: pseudo code; bpf: the program that the kernel runs; json: the source
        #[arg(long, value_enum, default_value = "json")]
        format: ProfileFormat,
    },
    /// Check a profile for open side doors and missing relatives
    Lint {
        /// A built-in name, or a JSON file
        #[arg(value_name = "NAME|FILE")]
        profile: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ApiCommand {
    /// Print the agent API as an OpenAPI document
    Schema,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileFormat {
    Pfc,
    Bpf,
    Json,
}

/// How to reach the daemon.
#[derive(Args, Debug)]
pub(super) struct HostArguments {
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
    /// The daemon's host socket
    #[arg(long, value_name = "PATH", env = "OUTCALL_HOST_SOCKET_PATH", default_value = crate::config::HOST_SOCKET)]
    pub(super) host_socket: PathBuf,
}

/// The Outcall supervisor: decides every exec, connection and open of the containers it is given.
#[derive(Debug, Parser)]
#[command(name = "outcalld", version)]
pub(super) struct DaemonArguments {
    /// Configuration file (TOML) [default: /etc/outcall/outcalld.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "OUTCALL_CONFIG")]
    pub(super) config: Option<PathBuf>,
    /// Where containers connect
    #[arg(long, value_name = "PATH")]
    pub(super) agent_socket: Option<PathBuf>,
    /// Mode of that socket, in octal
    #[arg(long, value_name = "MODE")]
    pub(super) agent_socket_mode: Option<String>,
    /// Where operators connect
    #[arg(long, value_name = "PATH")]
    pub(super) host_socket: Option<PathBuf>,
    /// Mode of that socket, in octal
    #[arg(long, value_name = "MODE")]
    pub(super) host_socket_mode: Option<String>,
    /// Directory of the decision log
    #[arg(long, value_name = "DIR")]
    pub(super) log: Option<PathBuf>,
    /// Directory of rule requests and approved rules
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// Rule file or directory, or `builtin`; may be given again
    #[arg(long, value_name = "PATH")]
    pub(super) rules: Vec<PathBuf>,
    /// Syscall profile for new sessions
    #[arg(long, value_name = "NAME|FILE")]
    pub(super) profile: Option<String>,
    /// enforce or observe
    #[arg(long, value_name = "MODE")]
    pub(super) mode: Option<String>,
    /// How long SIGTERM waits for sessions to end by themselves
    #[arg(long, value_name = "SECONDS")]
    pub(super) drain_seconds: Option<u64>,
    /// Processes outside of containers may register, too
    #[arg(long)]
    pub(super) host_sessions: bool,
    /// Where Docker answers
    #[arg(long, value_name = "PATH")]
    pub(super) docker_socket: Option<PathBuf>,
    /// Users who may ask on the host socket, beside root and the daemon's own; commas between them
    #[arg(long, value_name = "UIDS", value_delimiter = ',')]
    pub(super) operator_uids: Vec<u32>,
    /// Groups whose members may ask on the host socket; commas between them
    #[arg(long, value_name = "GIDS", value_delimiter = ',')]
    pub(super) operator_gids: Vec<u32>,
    /// How long a call that a rule holds for an operator waits for one
    #[arg(long, value_name = "SECONDS")]
    pub(super) ask_seconds: Option<u64>,
}

impl DaemonArguments {
    /// What the flags say.
    pub(super) fn layer(self) -> Layer {
        fn given<T>(list: Vec<T>) -> Option<Vec<T>> {
            (!list.is_empty()).then_some(list)
        }
        Layer {
            agent_socket: self.agent_socket,
            agent_socket_mode: self.agent_socket_mode,
            host_socket: self.host_socket,
            host_socket_mode: self.host_socket_mode,
            log: self.log,
            state: self.state,
            rules: given(self.rules),
            profile: self.profile,
            mode: self.mode,
            drain_seconds: self.drain_seconds,
            operator_uids: given(self.operator_uids),
            operator_gids: given(self.operator_gids),
            ask_seconds: self.ask_seconds,
            host_sessions: self.host_sessions.then_some(true),
            docker_socket: self.docker_socket,
            ..Layer::default()
        }
    }
}
