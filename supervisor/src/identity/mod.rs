//! Who is asking: credentials of the caller, and taking them on for a call done on its behalf.

pub(crate) mod credentials;
pub(crate) mod guise;

pub(crate) use credentials::{Credentials, Interruption, Status};
pub(crate) use guise::Guise;
