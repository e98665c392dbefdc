//! Every flag, its help and its completion, from one definition.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    /// Check, test, format and explain rules
    #[command(subcommand, after_help = rules::EXIT_CODES)]
    Rules(rules::RulesCommand),
    /// Print a completion script
    Completions {
        /// The shell it is for
        shell: clap_complete::Shell,
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
    /// Rule file or directory; may be given again [default: the built-in rules]
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
    /// Directory of the decision log [default: the daemon's, else that of the latest run]
    #[arg(long, value_name = "DIR")]
    pub(super) log: Option<PathBuf>,
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
    /// Rule file or directory; may be given again
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
}
