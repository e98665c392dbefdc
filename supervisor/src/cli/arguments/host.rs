//! The flags of commands that ask the daemon.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DaemonArguments, HostArguments};

#[derive(Args, Debug)]
pub(in crate::cli) struct WhyArguments {
    /// A process and everything below it, or a container by its id, name or session
    #[arg(value_name = "PID|CONTAINER")]
    pub(in crate::cli) subject: String,
    /// How many of the latest refusals to show
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 5)]
    pub(in crate::cli) lines: usize,
    /// Directory of the decision log [default: the daemon is asked]
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) log: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) host: HostArguments,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RequestsCommand {
    /// List the requests
    List {
        /// Only those that are pending, approved or rejected
        #[arg(long, value_name = "STATUS")]
        status: Option<String>,
        #[command(flatten)]
        host: HostArguments,
    },
    /// Show one request with its rules
    Show {
        /// The request
        id: String,
        #[command(flatten)]
        host: HostArguments,
    },
    /// Put the rules of a request in force
    Approve {
        /// The request
        id: String,
        /// For every container, not only for the agent that asked
        #[arg(long)]
        widen: bool,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        host: HostArguments,
    },
    /// Turn a request down
    Reject {
        /// The request
        id: String,
        /// What the agent is told
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        host: HostArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AsksCommand {
    /// List the calls that wait
    List(HostArguments),
    /// Listen, so that calls wait for an answer, and print each
    Listen(HostArguments),
    /// Let a call go on
    Allow {
        /// The question, as `ask-7`
        id: String,
        #[command(flatten)]
        host: HostArguments,
    },
    /// Refuse a call
    Deny {
        /// The question, as `ask-7`
        id: String,
        /// Why; it is on record, and the agent may see it
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
        #[command(flatten)]
        host: HostArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ConfigCommand {
    /// Show what outcalld would run with, given the same flags, environment and file
    Show {
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        daemon: Box<DaemonArguments>,
    },
}
