//! `outcall run`: hold a child behind the filter, hand its listener over, let it go, stay.

use std::ffi::OsString;

use super::{refuse_after_sigterm, stay};
use crate::client::Client;
use crate::command::Command;
use crate::failure::Failure;
use crate::profile::Profile;
use crate::sys::signal::Inherited;
use crate::{handoff, install};

pub(super) fn run(
    mut client: Client,
    words: &[OsString],
    inherited: &Inherited,
) -> Result<i32, Failure> {
    let command = Command::prepare(words, std::env::var_os("PATH"))?;
    let profile = Profile::fetch(&mut client)?;
    refuse_after_sigterm(inherited)?;
    let held = install::hold(&profile, &command, inherited)?;
    let released = handoff::hand_over(held, &mut client)?;
    stay(client, released, &command)
}
