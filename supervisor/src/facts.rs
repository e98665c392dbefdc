//! Stage 4, facts: a resolved call becomes questions in the policy's vocabulary. A call may ask more
//! than one: a script is its file and its interpreter, a rename is both of its ends.

use std::net::IpAddr;

use policy::{ActionType, Facts, Run, Source};

use crate::attach::session::Identity;
use crate::resolve::names::text;
use crate::resolve::network::{Destination, Socket};
use crate::resolve::open::OpenRequest;
use crate::resolve::{Caller, Object, Request, Resolved};
use crate::sys::address::Address;

pub(crate) mod explicit;

/// One question, and the object it is about.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) facts: Facts,
    pub(crate) object: Object,
}

/// Turns a resolved call into questions. None: nothing about the call is for rules to decide.
pub(crate) fn questions(resolved: &Resolved, session: &Identity) -> Vec<Question> {
    let base = base(&resolved.caller, session);
    match &resolved.request {
        Request::Open(open) => vec![file(&base, &open.object, operation(open), flags(open))],
        Request::Mutate(mutation) => mutation
            .ends
            .iter()
            .map(|end| {
                let device = mutation.change.makes_device().then(|| "device".to_owned());
                let flags = device.into_iter().collect();
                file(&base, &end.object, mutation.change.operation(), flags)
            })
            .collect(),
        Request::Exec(exec) => {
            let interpreter = match &exec.programs[..] {
                [_, .., last] => text(&last.object.resolved),
                _ => String::new(),
            };
            let argv: Vec<String> = exec.argv.iter().map(|word| text(word)).collect();
            let cwd = text(&exec.cwd);
            let ask =
                |object, interpreter: &str| program_facts(&base, object, &argv, interpreter, &cwd);
            let programs = exec.programs.iter().map(|program| ask(&program.object, &interpreter));
            // The loader runs as well, as its own interpreter.
            let loader = exec
                .loader
                .iter()
                .map(|loader| ask(&loader.object, &text(&loader.object.resolved)));
            programs.chain(loader).collect()
        }
        Request::Bind(bind) => {
            let files = bind.file.iter();
            files.map(|end| file(&base, &end.object, "create", vec!["socket".to_owned()])).collect()
        }
        Request::Connect(connect) => {
            network(&base, &connect.socket, &connect.destination).into_iter().collect()
        }
        Request::Send(send) => send
            .messages
            .iter()
            .filter_map(|message| message.destination.as_ref())
            .filter_map(|destination| network(&base, &send.socket, destination))
            .collect(),
        Request::PathOnly { .. } => Vec::new(),
    }
}

fn base(caller: &Caller, session: &Identity) -> Facts {
    let mut facts = Facts { source: Source::Kernel, ..Facts::default() };
    session.describe(&mut facts);
    facts.process.exe = text(&caller.task.exe);
    facts.process.pid = i64::from(caller.task.tgid);
    facts.process.uid = caller.credentials().map_or(-1, |credentials| i64::from(credentials.uid));
    facts.process.ancestors.clone_from(&caller.task.ancestors);
    facts
}

fn file(base: &Facts, object: &Object, operation: &str, flags: Vec<String>) -> Question {
    let mut facts = base.clone();
    facts.action_type = ActionType::FileAccess;
    facts.target = text(&object.resolved);
    facts.file.path.clone_from(&facts.target);
    facts.file.requested = text(&object.requested);
    facts.file.operation = operation.to_owned();
    facts.file.flags = flags;
    Question { facts, object: object.clone() }
}

fn program_facts(
    base: &Facts,
    object: &Object,
    argv: &[String],
    interpreter: &str,
    cwd: &str,
) -> Question {
    let mut facts = base.clone();
    facts.action_type = ActionType::ShellExec;
    facts.target = text(&object.resolved);
    facts.exec.path.clone_from(&facts.target);
    facts.exec.argv = argv.to_vec();
    facts.exec.cwd = cwd.to_owned();
    facts.exec.interpreter = interpreter.to_owned();
    facts.run = command(&facts.target, argv, cwd);
    Question { facts, object: object.clone() }
}

/// A program and its arguments as a person would write the command.
pub(crate) fn command(path: &str, argv: &[String], cwd: &str) -> Run {
    let arguments = argv.get(1..).unwrap_or_default();
    Run {
        tool: path.rsplit('/').next().unwrap_or_default().to_owned(),
        flags: arguments.iter().filter(|word| word.starts_with('-')).cloned().collect(),
        args: arguments.iter().filter(|word| !word.starts_with('-')).cloned().collect(),
        cwd: cwd.to_owned(),
    }
}

/// What an open does, in one word.
fn operation(open: &OpenRequest) -> &'static str {
    let flags = open.flags.bits().cast_signed();
    let writable = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
    match &open.place.object {
        None => "create",
        Some(_) if flags & libc::O_TMPFILE == libc::O_TMPFILE => "create",
        Some(_) if writable => "write",
        Some(_) => "read",
    }
}

fn flags(open: &OpenRequest) -> Vec<String> {
    const NAMES: &[(i32, &str)] = &[
        (libc::O_APPEND, "append"),
        (libc::O_CREAT, "create"),
        (libc::O_EXCL, "exclusive"),
        (libc::O_TRUNC, "truncate"),
        (libc::O_DIRECTORY, "directory"),
        (libc::O_NOFOLLOW, "nofollow"),
        (libc::O_NONBLOCK, "nonblock"),
    ];
    let bits = open.flags.bits().cast_signed();
    NAMES.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}

/// A destination as facts. `None` for AF_UNSPEC: it dissolves an association, nothing is reached.
fn network(base: &Facts, socket: &Socket, destination: &Destination) -> Option<Question> {
    let mut facts = base.clone();
    facts.action_type = ActionType::NetworkCall;
    let network = &mut facts.network;
    network.protocol = match socket.kind {
        libc::SOCK_STREAM => "tcp",
        libc::SOCK_DGRAM => "udp",
        _ => "other",
    }
    .to_owned();
    let (target, family, class) = match &destination.address {
        Address::Ip { ip, port, .. } => {
            let ip = reached(*ip);
            network.ip = ip.to_string();
            network.port = i64::from(*port);
            let target = match ip {
                IpAddr::V4(v4) => format!("{v4}:{port}"),
                IpAddr::V6(v6) => format!("[{v6}]:{port}"),
            };
            (target, if ip.is_ipv4() { "inet" } else { "inet6" }, class_of(ip))
        }
        Address::UnixPath(_) => {
            "unix".clone_into(&mut network.protocol);
            (format!("unix:{}", text(&destination.object.resolved)), "unix", "unix")
        }
        Address::UnixAbstract(name) => {
            "unix".clone_into(&mut network.protocol);
            (format!("unix:@{}", text(name)), "unix", "unix")
        }
        Address::UnixUnnamed => ("unix:".to_owned(), "unix", "unix"),
        Address::Netlink { port, .. } => {
            "netlink".clone_into(&mut network.protocol);
            (format!("netlink:{port}"), "netlink", "kernel")
        }
        Address::Unspecified => return None,
        Address::Other(family) => (format!("family-{family}:"), "other", "other"),
    };
    family.clone_into(&mut network.family);
    class.clone_into(&mut network.class);
    facts.target = target;
    Some(Question { facts, object: destination.object.clone() })
}

/// The address that is reached: the unspecified one is this very host.
pub(crate) fn reached(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(v4) if v4.is_unspecified() => IpAddr::V4(std::net::Ipv4Addr::LOCALHOST),
        IpAddr::V6(v6) if v6.is_unspecified() => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        other => other,
    }
}

/// The class of an address, by its reach.
pub(crate) fn class_of(ip: IpAddr) -> &'static str {
    match ip {
        IpAddr::V4(v4) => {
            if v4.octets() == [169, 254, 169, 254] || v4.octets() == [100, 100, 100, 200] {
                "metadata"
            } else if v4.is_loopback() {
                "loopback"
            } else if v4.is_private() || (v4.octets()[0] == 100 && v4.octets()[1] & 0xc0 == 64) {
                "private"
            } else if v4.is_link_local() {
                "link_local"
            } else if v4.is_multicast() || v4.is_broadcast() {
                "multicast"
            } else {
                "public"
            }
        }
        IpAddr::V6(v6) => {
            let head = v6.segments()[0];
            if v6.segments() == [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] {
                "metadata"
            } else if v6.is_loopback() {
                "loopback"
            } else if head & 0xfe00 == 0xfc00 {
                "private"
            } else if head & 0xffc0 == 0xfe80 {
                "link_local"
            } else if v6.is_multicast() {
                "multicast"
            } else {
                "public"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::class_of;

    #[test]
    fn addresses_have_the_class_of_their_reach() {
        for (ip, class) in [
            ("127.8.8.8", "loopback"),
            ("::1", "loopback"),
            ("10.0.0.1", "private"),
            ("172.31.255.1", "private"),
            ("100.64.0.1", "private"),
            ("fd12::1", "private"),
            ("169.254.1.1", "link_local"),
            ("fe80::1", "link_local"),
            ("169.254.169.254", "metadata"),
            ("fd00:ec2::254", "metadata"),
            ("224.0.0.1", "multicast"),
            ("ff02::1", "multicast"),
            ("8.8.8.8", "public"),
            ("2001:db8::1", "public"),
        ] {
            assert_eq!(class_of(ip.parse().unwrap()), class, "{ip}");
        }
    }
}
