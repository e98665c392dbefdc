//! The seccomp listener: the five ioctls, with the kernel's manners kept (sizes asked, request
//! zeroed, ENOENT normal).
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use nix::errno::Errno;

use super::cerr;

const NOTIF_RECV: libc::c_ulong = 0xc050_2100;
const NOTIF_SEND: libc::c_ulong = 0xc018_2101;
const NOTIF_ID_VALID: libc::c_ulong = 0x4008_2102;
const NOTIF_ADDFD: libc::c_ulong = 0x4018_2103;
const NOTIF_SET_FLAGS: libc::c_ulong = 0x4008_2104;

const FLAG_CONTINUE: u32 = 1;
const SYNC_WAKE_UP: u64 = 1;
const GET_NOTIF_SIZES: libc::c_long = 3;

/// `struct seccomp_notif`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RawNotification {
    /// The kernel's cookie.
    pub(crate) id: u64,
    /// A thread id, in the listener's pid namespace.
    pub(crate) tid: u32,
    /// Always zero.
    pub(crate) flags: u32,
    /// The system call's number.
    pub(crate) number: i32,
    /// AUDIT_ARCH_*.
    pub(crate) arch: u32,
    /// Where the caller will return to.
    pub(crate) instruction: u64,
    /// The six argument registers.
    pub(crate) args: [u64; 6],
}

#[repr(C)]
struct RawResponse {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

#[repr(C)]
struct RawAddfd {
    id: u64,
    flags: u32,
    source: u32,
    target: u32,
    target_flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct RawSizes {
    notification: u16,
    response: u16,
    data: u16,
}

/// A kernel may use larger structures than ours; receiving goes through a buffer of this size.
const RECEIVE_BYTES: usize = 512;

#[repr(C, align(8))]
struct ReceiveBuffer {
    head: RawNotification,
    rest: [u8; RECEIVE_BYTES - size_of::<RawNotification>()],
}

/// An open seccomp listener.
#[derive(Debug)]
pub(crate) struct Listener {
    fd: OwnedFd,
}

impl Listener {
    /// Takes a descriptor that claims to be a listener; a probe with an id that cannot exist must
    /// answer ENOENT, so that nobody hands over some other kind of file.
    pub(crate) fn adopt(fd: OwnedFd) -> Result<Self, Errno> {
        if sizes()?.notification as usize > RECEIVE_BYTES {
            return Err(Errno::E2BIG);
        }
        let listener = Self { fd };
        match listener.id_valid(u64::MAX) {
            Err(Errno::ENOENT) | Ok(()) => Ok(listener),
            Err(errno) => Err(errno),
        }
    }

    /// Asks for the synchronous wake-up of the answered task; older kernels refuse, which is fine.
    pub(crate) fn set_sync_wake_up(&self) -> Result<(), Errno> {
        // SAFETY: NOTIF_SET_FLAGS takes its flags by value; no memory is passed.
        cerr(unsafe { libc::ioctl(self.raw(), NOTIF_SET_FLAGS, SYNC_WAKE_UP) }).map(drop)
    }

    /// Blocks until a notification is there. ENOENT: its task vanished or nobody is left. EINTR:
    /// a signal came.
    pub(crate) fn receive(&self) -> Result<RawNotification, Errno> {
        let mut buffer = ReceiveBuffer {
            head: RawNotification::default(),
            rest: [0; RECEIVE_BYTES - size_of::<RawNotification>()],
        };
        // SAFETY: NOTIF_RECV writes at most the size that GET_NOTIF_SIZES names, which `adopt`
        // compared with this buffer; the buffer is zeroed as the call demands.
        cerr(unsafe { libc::ioctl(self.raw(), NOTIF_RECV, &raw mut buffer) })?;
        Ok(buffer.head)
    }

    /// Ok while the notification still waits for its answer.
    pub(crate) fn id_valid(&self, id: u64) -> Result<(), Errno> {
        // SAFETY: NOTIF_ID_VALID reads one u64 at the pointer, which outlives the call.
        cerr(unsafe { libc::ioctl(self.raw(), NOTIF_ID_VALID, &raw const id) }).map(drop)
    }

    /// Answers with a return value.
    pub(crate) fn send_value(&self, id: u64, value: i64) -> Result<(), Errno> {
        self.send(&RawResponse { id, value, error: 0, flags: 0 })
    }

    /// Answers with an errno. Kernel-internal numbers (ERESTARTSYS) are accepted.
    pub(crate) fn send_error(&self, id: u64, errno: i32) -> Result<(), Errno> {
        self.send(&RawResponse { id, value: 0, error: -errno, flags: 0 })
    }

    /// Lets the kernel carry on with the call.
    pub(crate) fn send_continue(&self, id: u64) -> Result<(), Errno> {
        self.send(&RawResponse { id, value: 0, error: 0, flags: FLAG_CONTINUE })
    }

    /// Installs `source` in the table of a caller that goes on waiting: its number there.
    pub(crate) fn add_descriptor(
        &self,
        id: u64,
        source: BorrowedFd<'_>,
        close_on_exec: bool,
    ) -> Result<i32, Errno> {
        let request = RawAddfd {
            id,
            flags: 0,
            source: source.as_raw_fd().cast_unsigned(),
            target: 0,
            target_flags: if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 },
        };
        // SAFETY: NOTIF_ADDFD reads one seccomp_notif_addfd, which outlives the call; `source` is
        // borrowed, so it stays open.
        cerr(unsafe { libc::ioctl(self.raw(), NOTIF_ADDFD, &raw const request) })
    }

    fn send(&self, response: &RawResponse) -> Result<(), Errno> {
        // SAFETY: NOTIF_SEND reads one seccomp_notif_resp, which outlives the call.
        cerr(unsafe { libc::ioctl(self.raw(), NOTIF_SEND, &raw const *response) }).map(drop)
    }

    fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn sizes() -> Result<RawSizes, Errno> {
    let mut sizes = RawSizes::default();
    // SAFETY: GET_NOTIF_SIZES writes three u16 at the pointer.
    cerr(unsafe { libc::syscall(libc::SYS_seccomp, GET_NOTIF_SIZES, 0_u64, &raw mut sizes) })?;
    Ok(sizes)
}
