//! `outcall exec`: ask about one program with its exact arguments, then run exactly that.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::{refuse_after_sigterm, stay};
use crate::args::Exec;
use crate::client::Client;
use crate::command::{Command, own_identity};
use crate::failure::Failure;
use crate::json::Json;
use crate::question::{Action, Question, member};
use crate::sys::signal::Inherited;
use crate::{handoff, install, log, text};

pub(super) fn exec(mut client: Client, exec: Exec, inherited: &Inherited) -> Result<i32, Failure> {
    let Exec { program, arguments } = exec;
    let mut command = Command::named(&program, &arguments, std::env::var_os("PATH"))?;
    let file = command.settle(own_identity())?;
    let question = Question {
        action: Action::ShellExec,
        target: text::of(file.as_os_str().as_bytes()),
        metadata: metadata(&arguments)?,
    };
    let verdict = client.ask(&question)?;
    if !verdict.allowed {
        log::verdict(&verdict.sentence(&question));
        return Ok(1);
    }
    log::debug(&verdict.sentence(&question));
    refuse_after_sigterm(inherited)?;
    let held = install::hold_unconfined(&command, inherited)?;
    let released = handoff::let_go(held, &mut client)?;
    stay(client, released, &command)
}

/// What rules may look at: every argument by itself, and where it runs.
fn metadata(arguments: &[OsString]) -> Result<Vec<(String, Json)>, Failure> {
    let cwd = std::env::current_dir().map_err(Failure::step("cannot tell the directory"))?;
    let words = arguments.iter().map(|word| Json::String(text::of(word.as_bytes()))).collect();
    let cwd = Json::String(text::of(cwd.as_os_str().as_bytes()));
    Ok(vec![member("argv", Json::Array(words)), member("cwd", cwd)])
}
