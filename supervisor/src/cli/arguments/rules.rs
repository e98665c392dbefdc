//! The flags of `outcallctl rules`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use policy::ActionType;

/// The end of every help text of these commands.
pub(in crate::cli) const EXIT_CODES: &str = "\
Exit codes: 0 fine, 1 failure, 2 wrong usage, 3 invalid rules or cases, 4 would be denied, \
5 tests failed";

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RulesCommand {
    /// Load rules as the supervisor does, and say what is wrong with them
    #[command(after_help = EXIT_CODES)]
    Check(CheckArguments),
    /// Run the examples of rules, and files of cases
    #[command(after_help = EXIT_CODES)]
    Test(TestArguments),
    /// Rewrite rule files in canonical form
    #[command(after_help = EXIT_CODES)]
    Fmt(FmtArguments),
    /// Decide one question, and say which rule decided and why
    #[command(after_help = EXIT_CODES)]
    Eval(EvalArguments),
    /// List rules in the order in which they are asked
    #[command(after_help = EXIT_CODES)]
    List(ListArguments),
    /// Show everything about one rule
    #[command(after_help = EXIT_CODES)]
    Show(ShowArguments),
    /// Say in words what a rule does, or why a question is decided as it is
    #[command(after_help = EXIT_CODES)]
    Explain(ExplainArguments),
    /// Print the JSON Schema of rule files, for editors
    #[command(after_help = EXIT_CODES)]
    Schema,
    /// Print the format of rule files, every fact, the language and the limits, as Markdown
    #[command(after_help = EXIT_CODES)]
    Reference,
    /// Have the daemon read its rules anew; with mistakes the old ones stay, and the exit code is 3
    #[command(after_help = EXIT_CODES)]
    Reload(super::HostArguments),
}

#[derive(Args, Debug)]
pub(in crate::cli) struct CheckArguments {
    /// Rule files, directories of *.yaml and *.yml, or `builtin` [default: builtin]
    #[arg(value_name = "PATH")]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Warnings are as bad as errors
    #[arg(long)]
    pub(in crate::cli) strict: bool,
    /// JSON lines: one for each diagnostic, then one of type `summary`
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct TestArguments {
    /// Rule files, directories of *.yaml and *.yml, or `builtin` [default: builtin]
    #[arg(value_name = "PATH")]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// File of cases: questions, and the answer that is expected to each; may be given again
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) cases: Vec<PathBuf>,
    /// Say which rules decided a case or matched an example of their own, and which none
    #[arg(long)]
    pub(in crate::cli) coverage: bool,
    /// Write the results as JUnit XML as well
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) junit: Option<PathBuf>,
    /// JSON lines: one for each example and case, one of type `coverage` if asked for, one of type
    /// `summary`
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct FmtArguments {
    /// Rule files or directories; `-` alone reads stdin and writes stdout
    #[arg(value_name = "PATH", required = true)]
    pub(in crate::cli) paths: Vec<PathBuf>,
    /// Change nothing; exit with 1 if something would change
    #[arg(long)]
    pub(in crate::cli) check: bool,
}

/// Which rules are meant.
#[derive(Args, Debug)]
pub(in crate::cli) struct RuleSource {
    /// Rule file or directory, or `builtin`; may be given again [default: builtin]
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) rules: Vec<PathBuf>,
}

/// Facts of a question beside its action and target.
#[derive(Args, Debug)]
pub(in crate::cli) struct Details {
    /// An entry of `metadata`; may be given again
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    pub(in crate::cli) meta: Vec<(String, String)>,
    /// Any other fact, as in file.operation=read or container.labels.team=x; given again, a list
    /// grows by one item. What follows from the target need not be given
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub(in crate::cli) fact: Vec<(String, String)>,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct EvalArguments {
    #[command(flatten)]
    pub(in crate::cli) source: RuleSource,
    /// What kind of action is asked for
    #[arg(long, value_name = "TYPE", value_parser = action())]
    pub(in crate::cli) action: ActionType,
    /// Its object: a path, `ip:port`, `[v6]:port`, `host:port`, `unix:/path` or `unix:@name`
    #[arg(long, value_name = "TARGET")]
    pub(in crate::cli) target: String,
    #[command(flatten)]
    pub(in crate::cli) details: Details,
    /// Name rules that failed by one test alone
    #[arg(long)]
    pub(in crate::cli) near_misses: bool,
    /// One JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct ListArguments {
    #[command(flatten)]
    pub(in crate::cli) source: RuleSource,
    /// JSON lines: one for each rule
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct ShowArguments {
    /// The rule's id
    #[arg(value_name = "ID")]
    pub(in crate::cli) id: String,
    #[command(flatten)]
    pub(in crate::cli) source: RuleSource,
    /// One JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct ExplainArguments {
    /// The rule's id
    #[arg(value_name = "ID", required_unless_present = "action",
          conflicts_with_all = ["action", "target", "meta", "fact"])]
    pub(in crate::cli) id: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) source: RuleSource,
    /// Explain a question instead: what kind of action is asked for
    #[arg(long, value_name = "TYPE", requires = "target", value_parser = action())]
    pub(in crate::cli) action: Option<ActionType>,
    /// Its object: a path, `ip:port`, `[v6]:port`, `host:port`, `unix:/path` or `unix:@name`
    #[arg(long, value_name = "TARGET", requires = "action")]
    pub(in crate::cli) target: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) details: Details,
}

fn action() -> impl TypedValueParser<Value = ActionType> {
    PossibleValuesParser::new(ActionType::ALL.map(ActionType::as_str))
        .try_map(|name| name.parse::<ActionType>())
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}
