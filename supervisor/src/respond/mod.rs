//! Stage 6, respond: exactly one answer, by the strongest mechanism there is for the call.

mod exec;
mod mutate;
mod network;
mod open;

use nix::errno::Errno;

use crate::attach::session::Session;
use crate::attach::watch::Slot;
use crate::identity::{Guise, Interruption};
use crate::receive::{Notification, Reply};
use crate::resolve::{Request, Resolved};

pub(crate) use exec::{Outcome, Seized};

/// Kernel-internal: the call is restarted, or fails with EINTR, as the handler of the signal says.
pub(crate) const ERESTARTSYS: i32 = 512;

/// How safe an answer is: what an allow rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Decided on register values alone.
    Registers,
    /// The supervisor did the call itself, on its own copy.
    OnBehalf,
    /// The kernel carried on, and the result was checked before it could act.
    Verified,
    /// An errno and nothing else: safe whatever the memory says.
    Refused,
    /// The kernel carried on and nothing bounds it: observe mode only.
    Racy,
}

impl Class {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Registers => "registers",
            Self::OnBehalf => "on_behalf",
            Self::Verified => "verified",
            Self::Refused => "refused",
            Self::Racy => "racy",
        }
    }
}

/// The answer, ready to be recorded and then given.
#[derive(Debug)]
#[must_use]
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) class: Class,
    /// An exec whose stop must be awaited once the reply is out.
    pub(crate) seized: Option<Seized>,
}

impl Answer {
    fn new(reply: Reply, class: Class) -> Self {
        Self { reply, class, seized: None }
    }

    pub(crate) fn refuse(errno: i32) -> Self {
        Self::new(Reply::Errno(errno), Class::Refused)
    }

    /// The errno that a look-up done for the caller ended with.
    pub(crate) fn looked_up(errno: Errno) -> Self {
        Self::new(Reply::Errno(errno as i32), Class::OnBehalf)
    }

    /// Observe mode: the kernel carries on.
    pub(crate) fn observe() -> Self {
        Self::new(Reply::Continue, Class::Racy)
    }

    /// The errno that the caller will see.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self.reply {
            Reply::Errno(errno) => Some(errno),
            _ => None,
        }
    }
}

/// What became of an attempt.
pub(crate) enum Attempt {
    Done(Answer),
    /// What was judged is not what is there any more: resolve and judge again.
    Changed,
    /// The caller must make the same call again first, and that one will be judged.
    Postponed,
}

/// What an answer is made with.
pub(crate) struct Means<'a> {
    pub(crate) guise: &'a mut Guise,
    pub(crate) slot: &'a Slot,
}

/// Carries an allowed call out.
pub(crate) fn act(
    notification: &Notification<'_>,
    resolved: &Resolved,
    session: &Session,
    means: Means<'_>,
) -> Attempt {
    #[cfg(feature = "unsafe-test-switches")]
    if crate::attach::switches::continues(&resolved.request) {
        return Attempt::Done(Answer::observe());
    }
    let slot = means.slot;
    let result = match &resolved.request {
        Request::Open(request) => open::open(request, &resolved.caller, means),
        Request::Connect(request) if session.is_visited_by(&resolved.request) => {
            network::visit(request, notification, &resolved.caller, session, slot)
                .map(done_with_value)
        }
        Request::Connect(request) => {
            network::connect(request, &resolved.caller, means).map(done_with_value)
        }
        Request::Bind(request) => {
            network::bind(request, &resolved.caller, means).map(done_with_value)
        }
        Request::Send(request) => {
            network::send(request, &resolved.caller, means).map(done_with_value)
        }
        Request::Mutate(request) => {
            mutate::mutate(request, &resolved.caller, means).map(|()| done_with_value(0))
        }
        Request::PathOnly { .. } => {
            Ok(Attempt::Done(Answer::new(Reply::Continue, Class::Registers)))
        }
        Request::Exec(_) => exec::seize(notification),
    };
    match result {
        Ok(attempt) => attempt,
        Err(Errno::EINTR) => interrupted(slot.interruption()),
        Err(errno) => Attempt::Done(Answer::looked_up(errno)),
    }
}

/// The answer to a caller that was interrupted while something was done for it.
pub(crate) fn interrupted(interruption: Option<Interruption>) -> Attempt {
    let errno = match interruption {
        Some(Interruption::Restart) => ERESTARTSYS,
        Some(Interruption::Fail) => libc::EINTR,
        // A nudge that came late, meant for the call before: nobody interrupted this one.
        None => return Attempt::Changed,
    };
    Attempt::Done(Answer::new(Reply::Errno(errno), Class::OnBehalf))
}

fn done_with_value(value: i64) -> Attempt {
    Attempt::Done(Answer::new(Reply::Value(value), Class::OnBehalf))
}
