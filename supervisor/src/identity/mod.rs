//! Who is asking: the process at the other end and what it belongs to; credentials of a caller, and
//! taking them on for a call done on its behalf.

mod cgroup;
pub(crate) mod credentials;
pub(crate) mod docker;
pub(crate) mod guise;
pub(crate) mod home;
mod oci;
pub(crate) mod peer;
mod process;
pub(crate) mod registry;
mod session;
mod tokens;

pub(crate) use cgroup::container_of;
pub(crate) use credentials::{Credentials, Interruption, Status};
pub(crate) use guise::Guise;
pub(crate) use peer::{Membership, Peer};
pub(crate) use process::Process;
