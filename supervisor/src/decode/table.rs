//! The x86_64 table of the calls that profiles may notify.

use super::{At, Call, Decoded, How, Mutation, Outgoing, Registers, TimesLayout};

const NOFOLLOW: i32 = libc::AT_SYMLINK_NOFOLLOW;
const EMPTY_PATH: i32 = libc::AT_EMPTY_PATH;
const SYS_FCHMODAT2: i64 = 452;

pub(super) fn lookup(number: i64, r: Registers) -> Decoded {
    access(number, r)
        .or_else(|| network(number, r))
        .or_else(|| names(number, r))
        .or_else(|| attributes(number, r))
        .unwrap_or(Decoded { call: Call::Unknown, name: "unknown" })
}

fn some(name: &'static str, call: Call) -> Option<Decoded> {
    Some(Decoded { call, name })
}

fn mutate(name: &'static str, mutation: Mutation) -> Option<Decoded> {
    some(name, Call::Mutate(mutation))
}

fn access(number: i64, r: Registers) -> Option<Decoded> {
    let open = |at: At, flags, mode| Call::Open { at, how: How::Registers { flags, mode } };
    match number {
        libc::SYS_open => some("open", open(r.path(0), r.int(1), r.word(2))),
        libc::SYS_openat => some("openat", open(r.at(0), r.int(2), r.word(3))),
        libc::SYS_openat2 => {
            let how = How::Memory { pointer: r.pointer(2), size: r.long(3) };
            some("openat2", Call::Open { at: r.at(0), how })
        }
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            some("creat", open(r.path(0), flags, r.word(1)))
        }
        libc::SYS_execve => {
            some("execve", Call::Exec { at: r.path(0), argv: r.pointer(1), flags: 0 })
        }
        libc::SYS_execveat => {
            some("execveat", Call::Exec { at: r.at(0), argv: r.pointer(2), flags: r.int(4) })
        }
        _ => None,
    }
}

fn network(number: i64, r: Registers) -> Option<Decoded> {
    match number {
        libc::SYS_connect => {
            let (address, length) = (r.pointer(1), r.word(2));
            some("connect", Call::Connect { socket: r.int(0), address, length })
        }
        libc::SYS_bind => {
            let (address, length) = (r.pointer(1), r.word(2));
            some("bind", Call::Bind { socket: r.int(0), address, length })
        }
        libc::SYS_sendto => {
            let outgoing = Outgoing::Buffer {
                data: r.pointer(1),
                length: r.long(2),
                address: r.pointer(4),
                address_length: r.word(5),
            };
            some("sendto", Call::Send { socket: r.int(0), outgoing, flags: r.int(3) })
        }
        libc::SYS_sendmsg => {
            let outgoing = Outgoing::Header(r.pointer(1));
            some("sendmsg", Call::Send { socket: r.int(0), outgoing, flags: r.int(2) })
        }
        libc::SYS_sendmmsg => {
            let outgoing = Outgoing::Headers { first: r.pointer(1), count: r.word(2) };
            some("sendmmsg", Call::Send { socket: r.int(0), outgoing, flags: r.int(3) })
        }
        _ => None,
    }
}

fn names(number: i64, r: Registers) -> Option<Decoded> {
    use Mutation::{Link, MakeDirectory, MakeNode, Rename, Symlink, Unlink};
    let node = |at, mode, device| MakeNode { at, mode, device };
    match number {
        libc::SYS_unlink => mutate("unlink", Unlink { at: r.path(0), flags: 0 }),
        libc::SYS_rmdir => mutate("rmdir", Unlink { at: r.path(0), flags: libc::AT_REMOVEDIR }),
        libc::SYS_unlinkat => mutate("unlinkat", Unlink { at: r.at(0), flags: r.int(2) }),
        libc::SYS_mkdir => mutate("mkdir", MakeDirectory { at: r.path(0), mode: r.word(1) }),
        libc::SYS_mkdirat => mutate("mkdirat", MakeDirectory { at: r.at(0), mode: r.word(2) }),
        libc::SYS_mknod => mutate("mknod", node(r.path(0), r.word(1), r.word(2))),
        libc::SYS_mknodat => mutate("mknodat", node(r.at(0), r.word(2), r.word(3))),
        libc::SYS_symlink => mutate("symlink", Symlink { text: r.pointer(0), at: r.path(1) }),
        libc::SYS_symlinkat => mutate("symlinkat", Symlink { text: r.pointer(0), at: r.at(1) }),
        libc::SYS_rename => mutate("rename", Rename { from: r.path(0), to: r.path(1), flags: 0 }),
        libc::SYS_renameat => mutate("renameat", Rename { from: r.at(0), to: r.at(2), flags: 0 }),
        libc::SYS_renameat2 => {
            mutate("renameat2", Rename { from: r.at(0), to: r.at(2), flags: r.word(4) })
        }
        libc::SYS_link => mutate("link", Link { from: r.path(0), to: r.path(1), flags: 0 }),
        libc::SYS_linkat => mutate("linkat", Link { from: r.at(0), to: r.at(2), flags: r.int(4) }),
        _ => None,
    }
}

fn attributes(number: i64, r: Registers) -> Option<Decoded> {
    use Mutation::{Mode, Owner, RemoveAttribute, SetAttribute, Times, Truncate};
    let owner =
        |at, first: usize, flags| Owner { at, uid: r.word(first), gid: r.word(first + 1), flags };
    let times = |at, index, layout, flags| Times { at, times: r.pointer(index), layout, flags };
    let set = |at, follow| SetAttribute {
        at,
        follow,
        name: r.pointer(1),
        value: r.pointer(2),
        size: r.long(3),
        flags: r.int(4),
    };
    let remove = |at, follow| RemoveAttribute { at, follow, name: r.pointer(1) };
    match number {
        libc::SYS_truncate => {
            mutate("truncate", Truncate { at: r.path(0), length: r.long(1).cast_signed() })
        }
        libc::SYS_chmod => mutate("chmod", Mode { at: r.path(0), mode: r.word(1), flags: 0 }),
        libc::SYS_fchmodat => mutate("fchmodat", Mode { at: r.at(0), mode: r.word(2), flags: 0 }),
        SYS_FCHMODAT2 => {
            mutate("fchmodat2", Mode { at: r.at(0), mode: r.word(2), flags: r.int(3) })
        }
        libc::SYS_fchmod => {
            mutate("fchmod", Mode { at: r.descriptor(0), mode: r.word(1), flags: EMPTY_PATH })
        }
        libc::SYS_fchown => mutate("fchown", owner(r.descriptor(0), 1, EMPTY_PATH)),
        libc::SYS_fsetxattr => mutate("fsetxattr", set(r.descriptor(0), true)),
        libc::SYS_fremovexattr => mutate("fremovexattr", remove(r.descriptor(0), true)),
        libc::SYS_chown => mutate("chown", owner(r.path(0), 1, 0)),
        libc::SYS_lchown => mutate("lchown", owner(r.path(0), 1, NOFOLLOW)),
        libc::SYS_fchownat => mutate("fchownat", owner(r.at(0), 2, r.int(4))),
        libc::SYS_setxattr => mutate("setxattr", set(r.path(0), true)),
        libc::SYS_lsetxattr => mutate("lsetxattr", set(r.path(0), false)),
        libc::SYS_removexattr => mutate("removexattr", remove(r.path(0), true)),
        libc::SYS_lremovexattr => mutate("lremovexattr", remove(r.path(0), false)),
        libc::SYS_utime => mutate("utime", times(r.path(0), 1, TimesLayout::Seconds, 0)),
        libc::SYS_utimes => mutate("utimes", times(r.path(0), 1, TimesLayout::Microseconds, 0)),
        libc::SYS_futimesat => {
            let flags = if r.pointer(1).is_null() { EMPTY_PATH } else { 0 };
            mutate("futimesat", times(r.at(0), 2, TimesLayout::Microseconds, flags))
        }
        libc::SYS_utimensat => {
            // A NULL path means the descriptor itself.
            let flags = if r.pointer(1).is_null() { EMPTY_PATH } else { r.int(3) };
            mutate("utimensat", times(r.at(0), 2, TimesLayout::Nanoseconds, flags))
        }
        _ => None,
    }
}
