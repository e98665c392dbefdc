//! Stage 3, resolve: the caller's memory is read once into owned values, paths are walked as the
//! caller would walk them, and the object is pinned.

pub(crate) mod caller;
pub(crate) mod exec;
mod memory;
pub(crate) mod mutation;
pub(crate) mod names;
pub(crate) mod network;
pub(crate) mod open;
pub(crate) mod procfs;
pub(crate) mod task;
mod walk;

pub(crate) use caller::Caller;
pub(crate) use memory::Memory;
pub(crate) use task::Tasks;
pub(crate) use walk::{Place, Wish};

use std::cell::RefCell;

use nix::errno::Errno;

use crate::decode::{Call, Decoded};
use crate::identity::Guise;
use crate::receive::{Gone, Notification};

/// Everything the call speaks about, owned.
#[derive(Debug)]
pub(crate) enum Request {
    Open(open::OpenRequest),
    Exec(Box<exec::ExecRequest>),
    Connect(network::ConnectRequest),
    Bind(network::BindRequest),
    Send(network::SendRequest),
    Mutate(mutation::MutationRequest),
    /// An O_PATH open by registers: a name for an object, no access to it.
    PathOnly {
        requested: Vec<u8>,
    },
}

/// A resolved call: who asks, and for what.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) caller: Caller,
    pub(crate) request: Request,
}

/// Why a call could not be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// The task is gone: nobody waits for an answer.
    Gone,
    /// The caller gets this errno, as the kernel would have given it.
    Errno(Errno),
    /// An entry of `/proc` that belongs to a process outside the session.
    Guarded,
    /// Nothing this version knows how to do safely.
    Unsupported,
}

impl From<Errno> for Unresolved {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ESRCH => Self::Gone,
            errno => Self::Errno(errno),
        }
    }
}

impl From<Gone> for Unresolved {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

/// A call that was not resolved, and what of it was read.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) why: Unresolved,
    pub(crate) requested: Vec<u8>,
    pub(crate) task: Option<std::sync::Arc<task::Task>>,
}

impl Failure {
    pub(crate) fn of(why: Unresolved) -> Self {
        Self { why, requested: Vec::new(), task: None }
    }
}

/// Object identity for rules and records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) requested: Vec<u8>,
    pub(crate) resolved: Vec<u8>,
    pub(crate) device: u64,
    pub(crate) inode: u64,
}

/// Resolves a decoded call.
pub(crate) fn resolve(
    notification: &Notification<'_>,
    decoded: &Decoded,
    tasks: &Tasks,
    shim: i32,
    guise: &mut Guise,
) -> Result<Resolved, Failure> {
    let caller = caller(notification, tasks, shim, guise).map_err(Failure::of)?;
    let last_path = RefCell::new(Vec::new());
    let mut desk = Desk { notification, caller: &caller, guise, last_path: &last_path };
    match desk.request(decoded) {
        Ok(request) => Ok(Resolved { caller, request }),
        Err(why) => {
            let why = if caller.was_guarded() { Unresolved::Guarded } else { why };
            let task = Some(caller.task);
            Err(Failure { why, requested: last_path.into_inner(), task })
        }
    }
}

/// Who calls, as ourselves.
fn caller(
    notification: &Notification<'_>,
    tasks: &Tasks,
    shim: i32,
    guise: &mut Guise,
) -> Result<Caller, Unresolved> {
    let gone_if_missing = |errno| match errno {
        Errno::ENOENT => Unresolved::Gone,
        other => Unresolved::from(other),
    };
    guise.take_off()?;
    let task = tasks.get(notification.tid()).map_err(gone_if_missing)?;
    let caller = Caller::new(task, shim, guise).map_err(gone_if_missing)?;
    notification.check()?;
    Ok(caller)
}

/// What resolving one call works with.
pub(crate) struct Desk<'a, 'l> {
    notification: &'a Notification<'l>,
    caller: &'a Caller,
    guise: &'a mut Guise,
    /// The last path that was read, for the record of a failure.
    last_path: &'a RefCell<Vec<u8>>,
}

impl Desk<'_, '_> {
    fn request(&mut self, decoded: &Decoded) -> Result<Request, Unresolved> {
        let request = match decoded.call {
            Call::Open { at, how } => self.open(at, how)?,
            Call::Exec { at, argv, flags } => Request::Exec(Box::new(self.exec(at, argv, flags)?)),
            Call::Connect { socket, address, length } => {
                Request::Connect(self.connect(socket, address, length)?)
            }
            Call::Bind { socket, address, length } => {
                Request::Bind(self.bind(socket, address, length)?)
            }
            Call::Send { socket, outgoing, flags } => {
                Request::Send(self.send(socket, outgoing, flags)?)
            }
            Call::Mutate(mutation) => Request::Mutate(self.mutation(mutation)?),
            Call::Unknown => return Err(Unresolved::Unsupported),
        };
        self.notification.check()?;
        Ok(request)
    }

    fn memory(&self) -> Memory {
        Memory::of(self.notification.tid())
    }

    /// Reads a path and makes sure that it was the caller's memory.
    fn path(&self, at: crate::decode::Pointer) -> Result<Vec<u8>, Unresolved> {
        let path = self.memory().path(at);
        self.notification.check()?;
        let path = path?;
        self.last_path.borrow_mut().clone_from(&path);
        Ok(path)
    }

    fn walk(&mut self, dirfd: i32, path: &[u8], wish: Wish) -> Result<Place, Errno> {
        self.caller.walk(self.guise, dirfd, path, wish)
    }
}

/// Device and inode of a pinned object; zeroes for one that does not exist yet.
pub(crate) fn identity(place: &Place) -> (u64, u64) {
    place
        .object
        .as_ref()
        .and_then(|object| rustix::fs::fstat(object).ok())
        .map_or((0, 0), |stat| (stat.st_dev, stat.st_ino))
}
