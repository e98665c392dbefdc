//! seccomp-profiles
