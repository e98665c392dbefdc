//! The heartbeat: when the daemon must be heard next.

use std::time::{Duration, Instant};

use crate::answer::CallError;
use crate::client::Client;

/// Time between two heartbeats.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(10);

/// The state of one connection's heartbeat.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pulse {
    /// The next heartbeat is sent then.
    Rest(Instant),
    /// A heartbeat is out, to be answered until then.
    Out(Instant),
}

impl Pulse {
    /// The first heartbeat comes after this time.
    pub(crate) fn after(rest: Duration) -> Self {
        Self::Rest(Instant::now() + rest)
    }

    /// When something is due.
    pub(crate) fn next(self) -> Instant {
        let (Self::Rest(next) | Self::Out(next)) = self;
        next
    }

    /// Time did not count while this process was stopped.
    pub(crate) fn forgive(&mut self, client: &Client) {
        if let Self::Out(_) = self {
            *self = Self::Out(Instant::now() + client.timeout());
        }
    }

    /// Takes what the daemon said: only the answer to a heartbeat is expected.
    pub(crate) fn listen(&mut self, client: &mut Client) -> Result<(), CallError> {
        match (client.receive()?, *self) {
            (None, _) => Ok(()),
            (Some(answer), Self::Out(_)) => {
                answer.data(200)?;
                *self = Self::after(HEARTBEAT);
                Ok(())
            }
            (Some(_), Self::Rest(_)) => Err(CallError::Malformed("no request before it")),
        }
    }

    /// Sends a heartbeat that is due, and gives up on one that was not answered.
    pub(crate) fn beat(&mut self, client: &mut Client) -> Result<(), CallError> {
        let now = Instant::now();
        match *self {
            Self::Rest(next) if now >= next => {
                client.start_heartbeat()?;
                *self = Self::Out(now + client.timeout());
                Ok(())
            }
            Self::Out(deadline) if now >= deadline => Err(CallError::TimedOut(client.timeout())),
            _ => Ok(()),
        }
    }
}
