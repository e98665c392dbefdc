//! Sessions: a listener that was handed over, and the threads that serve it.

pub(crate) mod entrance;
pub(crate) mod pool;
pub(crate) mod session;
#[cfg(feature = "unsafe-test-switches")]
pub(crate) mod switches;
pub(crate) mod watch;
