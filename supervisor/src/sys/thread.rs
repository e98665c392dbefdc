//! Per-thread identity: credentials, capabilities and the file-system context belong to a *thread*
//! in the kernel. libc's own wrappers would change every thread, so these are the raw calls.
#![allow(unsafe_code)]

use nix::errno::Errno;

use super::cerr;

const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilityData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Sets the effective ids of this thread; real and saved ids stay.
pub(crate) fn set_effective_uid(uid: u32) -> Result<(), Errno> {
    // SAFETY: setresuid takes integers; -1 leaves an id alone.
    cerr(unsafe { libc::syscall(libc::SYS_setresuid, -1_i64, u64::from(uid), -1_i64) }).map(drop)
}

/// Sets the effective group of this thread; real and saved groups stay.
pub(crate) fn set_effective_gid(gid: u32) -> Result<(), Errno> {
    // SAFETY: setresgid takes integers; -1 leaves an id alone.
    cerr(unsafe { libc::syscall(libc::SYS_setresgid, -1_i64, u64::from(gid), -1_i64) }).map(drop)
}

/// Sets the supplementary groups of this thread.
pub(crate) fn set_groups(groups: &[u32]) -> Result<(), Errno> {
    // SAFETY: setgroups reads `len` gid_t at the pointer; the slice has that many u32.
    cerr(unsafe { libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()) }).map(drop)
}

/// The effective and permitted capabilities of this thread.
pub(crate) fn capabilities() -> Result<(u64, u64), Errno> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut data = [CapabilityData::default(); 2];
    // SAFETY: version 3 writes two data elements; both pointers outlive the call.
    cerr(unsafe { libc::syscall(libc::SYS_capget, &raw const header, data.as_mut_ptr()) })?;
    let join = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    Ok((join(data[0].effective, data[1].effective), join(data[0].permitted, data[1].permitted)))
}

/// Sets the effective capabilities of this thread; permitted ones stay, so that it can come back.
pub(crate) fn set_effective_capabilities(effective: u64, permitted: u64) -> Result<(), Errno> {
    let header = CapabilityHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let half = |shift: u32| CapabilityData {
        effective: ((effective & permitted) >> shift & 0xffff_ffff) as u32,
        permitted: (permitted >> shift & 0xffff_ffff) as u32,
        inheritable: 0,
    };
    let data = [half(0), half(32)];
    // SAFETY: version 3 reads two data elements; both pointers outlive the call.
    cerr(unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) }).map(drop)
}

/// This thread's id.
pub(crate) fn id() -> i32 {
    nix::unistd::gettid().as_raw()
}
