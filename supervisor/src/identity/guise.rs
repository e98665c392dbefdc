//! A worker thread's guise: the credentials, umask and working directory under which it acts.
//!
//! Doing a call for somebody means doing it *as* them. Credentials are per thread in the kernel, so
//! a worker puts the caller's on for the walk and the call, and takes them off to look into `/proc`.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use super::Credentials;
use crate::sys::thread;

/// The guise of the current thread. Not `Send`: it speaks about the thread that made it.
#[derive(Debug)]
pub(crate) struct Guise {
    own: Credentials,
    permitted: u64,
    /// What the thread wears now; `None` is its own.
    worn: Option<Credentials>,
    /// Only a privileged supervisor can take on, or meet, other credentials.
    privileged: bool,
    umask: Option<u32>,
    not_send: std::marker::PhantomData<*const ()>,
}

impl Guise {
    /// Gives this thread a file-system context of its own, so that its umask is not the process's.
    pub(crate) fn new() -> Result<Self, Errno> {
        unshare(CloneFlags::CLONE_FS)?;
        let (effective, permitted) = thread::capabilities()?;
        let groups = nix::unistd::getgroups()?.iter().map(|group| group.as_raw()).collect();
        let own = Credentials {
            uid: nix::unistd::geteuid().as_raw(),
            gid: nix::unistd::getegid().as_raw(),
            groups,
            capabilities: effective,
        };
        let privileged = own.uid == 0 && effective != 0;
        let not_send = std::marker::PhantomData;
        Ok(Self { own, permitted, worn: None, privileged, umask: None, not_send })
    }

    /// False where every caller necessarily has the supervisor's own credentials: an ordinary
    /// user's processes under no_new_privs, with user namespaces closed, cannot change theirs.
    pub(crate) fn is_privileged(&self) -> bool {
        self.privileged
    }

    /// The supervisor's own credentials.
    pub(crate) fn own(&self) -> &Credentials {
        &self.own
    }

    /// Puts the caller's credentials on. Failing half-way leaves a mixture, so the caller denies.
    pub(crate) fn wear(&mut self, wanted: &Credentials) -> Result<(), Errno> {
        if !self.privileged || self.fits(self.worn.as_ref().unwrap_or(&self.own), wanted) {
            return Ok(());
        }
        self.take_off()?;
        if self.fits(&self.own, wanted) {
            return Ok(());
        }
        self.worn = Some(wanted.clone());
        if wanted.groups != self.own.groups {
            thread::set_groups(&wanted.groups)?;
        }
        if wanted.gid != self.own.gid {
            thread::set_effective_gid(wanted.gid)?;
        }
        if wanted.uid != self.own.uid {
            thread::set_effective_uid(wanted.uid)?;
        }
        // Leaving uid 0 cleared the effective set; the permitted one stays to come back with.
        thread::set_effective_capabilities(wanted.capabilities, self.permitted)
    }

    /// Whether two sets of credentials come to the same here: what we do not have, nobody gets.
    fn fits(&self, worn: &Credentials, wanted: &Credentials) -> bool {
        worn.uid == wanted.uid
            && worn.gid == wanted.gid
            && worn.groups == wanted.groups
            && worn.capabilities & self.permitted == wanted.capabilities & self.permitted
    }

    /// Takes any guise off.
    pub(crate) fn take_off(&mut self) -> Result<(), Errno> {
        let Some(worn) = self.worn.take() else { return Ok(()) };
        // Capabilities first: they are what allows the rest.
        thread::set_effective_capabilities(self.permitted, self.permitted)?;
        if worn.uid != self.own.uid {
            thread::set_effective_uid(self.own.uid)?;
        }
        thread::set_effective_capabilities(self.own.capabilities, self.permitted)?;
        if worn.gid != self.own.gid {
            thread::set_effective_gid(self.own.gid)?;
        }
        if worn.groups != self.own.groups {
            thread::set_groups(&self.own.groups)?;
        }
        Ok(())
    }

    /// Takes on the caller's umask for the next creation.
    pub(crate) fn set_umask(&mut self, umask: u32) {
        if self.umask != Some(umask) {
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
            self.umask = Some(umask);
        }
    }
}
