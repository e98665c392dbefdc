//! `outcallctl rules`: what an author of rules needs, without a daemon and without supervision.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use policy::{Engine, Rule, SourceFile};

use super::arguments::rules::RulesCommand;
use super::screen::{self, Paint, lines};
use crate::judge::rules::{RulesError, sources};

mod check;
mod coverage;
mod eval;
mod explain;
mod fmt;
mod input;
mod junit;
mod list;
mod question;
mod replace;
mod test;

const USAGE: u8 = 2;
const INVALID: u8 = 3;
const DENIED: u8 = 4;
const TESTS_FAILED: u8 = 5;

/// What a command prints on stdout, and its exit code.
struct Outcome {
    text: String,
    code: u8,
}

/// Why a command has nothing to print on stdout.
#[derive(Debug)]
enum Fault {
    /// The command line asks for what cannot be: exit code 2.
    Usage(String),
    /// Rules or cases do not load: exit code 3.
    Invalid(String),
    /// Anything else: exit code 1.
    Failed(anyhow::Error),
}

impl From<RulesError> for Fault {
    fn from(error: RulesError) -> Self {
        match error {
            RulesError::Reach { .. }
            | RulesError::List { .. }
            | RulesError::Open { .. }
            | RulesError::Read { .. }
            | RulesError::Changing { .. } => Self::Failed(error.into()),
            _ => Self::Invalid(error.to_string()),
        }
    }
}

impl From<anyhow::Error> for Fault {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

pub(super) fn rules(command: RulesCommand) -> anyhow::Result<u8> {
    let paint = Paint::for_stdout();
    let result = match command {
        RulesCommand::Reload(host) => return super::reload::reload(&host),
        RulesCommand::Check(arguments) => check::check(&arguments, paint),
        RulesCommand::Test(arguments) => test::test(&arguments, paint),
        RulesCommand::Fmt(arguments) => fmt::fmt(&arguments),
        RulesCommand::Eval(arguments) => eval::eval(&arguments, paint),
        RulesCommand::List(arguments) => list::list(&arguments, paint),
        RulesCommand::Show(arguments) => list::show(&arguments),
        RulesCommand::Explain(arguments) => explain::explain(&arguments),
        RulesCommand::Schema => Ok(Outcome { text: policy::schema(), code: 0 }),
        RulesCommand::Reference => Ok(Outcome { text: policy::reference(), code: 0 }),
    };
    match result {
        Ok(Outcome { text, code }) => print(&text).map(|()| code),
        Err(Fault::Usage(message)) => refuse(&message, USAGE),
        Err(Fault::Invalid(message)) => refuse(&message, INVALID),
        Err(Fault::Failed(error)) => Err(anyhow!(lines(&format!("{error:#}")))),
    }
}

fn refuse(message: &str, code: u8) -> anyhow::Result<u8> {
    let _ = writeln!(io::stderr(), "outcallctl: {}", lines(message));
    Ok(code)
}

fn print(text: &str) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot write to stdout"),
    }
}

/// A rule set that loads, and the files it came from.
struct Loaded {
    files: Vec<SourceFile>,
    engine: Engine,
}

impl Loaded {
    fn from(paths: &[PathBuf]) -> Result<Self, Fault> {
        let files = sources(paths)?;
        let engine = Engine::load(&files).map_err(RulesError::Invalid)?;
        Ok(Self { files, engine })
    }

    /// The rule of that id, and how many are asked before it.
    fn rule(&self, id: &str) -> Result<(usize, &Rule), Fault> {
        let rules = self.engine.rules();
        if let Some(found) = rules.iter().enumerate().find(|(_, rule)| rule.id == id) {
            return Ok(found);
        }
        // The distance is quadratic in length; no id that could be meant is much longer.
        let ids: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
        let near =
            Some(id).filter(|id| id.len() <= 256).and_then(|id| crate::config::nearest(id, &ids));
        let next = match near {
            Some(near) => format!("did you mean {near}?"),
            None => "to see all: outcallctl rules list".to_owned(),
        };
        Err(Fault::Failed(anyhow!("no rule has the id {id}; {next}")))
    }
}
