use super::*;
use crate::{ActionType, Engine, Facts, Verdict};

fn engine() -> Engine {
    Engine::load(&default_rules()).unwrap_or_else(|errors| panic!("{errors}"))
}

fn base(action_type: ActionType, target: &str) -> Facts {
    let mut facts = Facts { action_type, target: target.into(), ..Facts::default() };
    facts.session.workspace = "/home/ann/project".into();
    facts
}

fn file(target: &str, operation: &str) -> Facts {
    let mut facts = base(ActionType::FileAccess, target);
    facts.file.path = target.into();
    facts.file.operation = operation.into();
    facts
}

fn exec(target: &str) -> Facts {
    let mut facts = base(ActionType::ShellExec, target);
    facts.exec.path = target.into();
    facts.run.tool = target.rsplit('/').next().unwrap_or_default().into();
    facts
}

fn network(target: &str, class: &str) -> Facts {
    let mut facts = base(ActionType::NetworkCall, target);
    facts.network.class = class.into();
    if let Some((ip, port)) = target.rsplit_once(':')
        && let Ok(port) = port.parse()
        && !ip.contains("netlink")
    {
        facts.network.ip = ip.trim_matches(['[', ']']).into();
        facts.network.port = port;
    }
    facts
}

fn expect(verdict: Verdict, cases: Vec<Facts>) {
    let engine = engine();
    for facts in cases {
        let decision = engine.decide(&facts);
        let id = decision.rule.as_ref().map_or("nothing", |rule| &rule.id);
        let what = (facts.action_type, &facts.target, &facts.file.operation);
        assert_eq!(decision.verdict, verdict, "{what:?} decided by {id}");
        assert!(decision.errors.is_empty(), "{what:?}: {:?}", decision.errors);
    }
}

#[test]
fn every_shipped_rule_has_description_reason_and_examples() {
    for rule in engine().rules() {
        assert!(!rule.description.is_empty() && !rule.reason.is_empty(), "{}", rule.id);
        assert!(rule.reason.ends_with('.'), "{}", rule.id);
    }
    for file in default_rules() {
        let count = |word: &str| file.text.matches(word).count();
        assert_eq!(count("- id:"), count("      match:"), "{}", file.name);
        assert_eq!(count("- id:"), count("      no_match:"), "{}", file.name);
    }
}

const READABLE: &[&str] = &[
    "/",
    "/usr/lib/git-core/git",
    "/etc/passwd",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ld.so.cache",
    "/proc/4711/status",
    "/proc/4711/maps",
    "/proc/meminfo",
    "/proc/cpuinfo",
    "/sys/fs/cgroup/cpu.max",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/opt/node/lib/x.js",
    "/nix/store/abc/bin/sh",
    "/run/systemd/resolve/stub-resolv.conf",
    "/var/lib/dpkg/status",
    "/home/ann/.cargo/registry/src/x/lib.rs",
    "/home/ann/.cargo/git/db/x",
    "/home/ann/.cargo/env",
    "/home/ann/.cargo/config.toml",
    "/root/.rustup/toolchains/x/lib/librustc.so",
    "/root/.pyenv/versions/3/lib/os.py",
    "/root/.nvm/versions/x",
    "/root/.local/lib/python3/x.py",
    "/root/.local/share/uv/python/x",
    "/root/.gitconfig",
    "/root/.config/git/ignore",
    "/root/.cache/pip/x",
    "/dev/null",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts/0",
    "/dev/fd/3",
];

const WRITABLE: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/ptmx",
    "/dev/stderr",
    "pipe:[123]",
    "/home/ann/.cargo/.package-cache",
    "/home/ann/.cargo/.global-cache",
];

const PROGRAMS: &[&str] = &[
    "/usr/bin/git",
    "/usr/bin/gcc",
    "/usr/bin/make",
    "/usr/bin/python3.11",
    "/bin/sh",
    "/usr/local/bin/node",
    "/home/ann/.cargo/bin/cargo",
    "/root/.rustup/toolchains/x/bin/rustc",
    "/home/ann/project/target/debug/build/x/build-script-build",
    "/tmp/a.out",
    "/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
    "/root/.nvm/versions/node/v22/bin/node",
];

#[test]
fn ordinary_development_is_allowed() {
    let work = "/home/ann/project";
    let mut cases = Vec::new();
    for operation in ["read", "write", "create", "delete", "rename", "link", "metadata"] {
        cases.push(file(&format!("{work}/src/main.rs"), operation));
        cases.push(file(&format!("{work}/.git/hooks/pre-commit"), operation));
        cases.push(file(&format!("{work}/.git/config"), operation));
        cases.push(file("/tmp/cc1.s", operation));
        cases.push(file("/var/tmp/x", operation));
        cases.push(file("/dev/shm/x", operation));
    }
    for path in READABLE {
        cases.push(file(path, "read"));
    }
    for path in WRITABLE {
        cases.push(file(path, "write"));
    }
    cases.push(file("/home/ann/.cargo/.global-cache-journal", "delete"));
    for path in PROGRAMS {
        cases.push(exec(path));
    }
    cases.push(network("127.0.0.1:8080", "loopback"));
    cases.push(network("[::1]:3000", "loopback"));
    cases.push(network("unix:/tmp/app.sock", "unix"));
    cases.push(network("unix:/home/ann/project/app.sock", "unix"));
    cases.push(network("netlink:0", "kernel"));
    expect(Verdict::Allow, cases);
}

#[test]
fn credentials_are_refused_for_every_operation_also_in_the_workspace() {
    let mut cases = Vec::new();
    for path in [
        ".ssh/id_rsa",
        ".ssh/config",
        ".ssh",
        ".gnupg/secring.gpg",
        ".aws/credentials",
        ".azure/x",
        ".config/gcloud/credentials.db",
        ".kube/config",
        ".docker/config.json",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".git-credentials",
        ".config/gh/hosts.yml",
        ".mozilla/firefox/x/key4.db",
        ".config/google-chrome/Default/Cookies",
        ".config/chromium/x",
        ".password-store/x.gpg",
        ".local/share/keyrings/login.keyring",
        ".bash_history",
        ".zsh_history",
        ".local/share/fish/fish_history",
        ".vault-token",
        ".terraform.d/credentials.tfrc.json",
    ] {
        for home in ["/home/ann", "/root", "/home/ann/project", "/tmp/copy"] {
            for operation in ["read", "write", "rename", "link", "delete"] {
                cases.push(file(&format!("{home}/{path}"), operation));
            }
        }
    }
    for path in [
        "/etc/shadow",
        "/etc/shadow-",
        "/etc/gshadow",
        "/etc/sudoers",
        "/etc/sudoers.d/x",
        "/etc/ssh/ssh_host_rsa_key",
        "/proc/1/environ",
        "/proc/77/mem",
        "/proc/77/task/78/mem",
        "/proc/kcore",
        "/run/secrets/token",
    ] {
        cases.push(file(path, "read"));
    }
    expect(Verdict::Block, cases);
}

#[test]
fn delegated_authority_is_refused() {
    let mut cases = Vec::new();
    for path in [
        "/run/docker.sock",
        "/var/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/user/1000/podman/podman.sock",
        "/run/crio/crio.sock",
        "/tmp/ssh-abc/agent.12",
        "/run/user/1000/gnupg/S.gpg-agent",
        "/root/.gnupg/S.gpg-agent.extra",
        "/run/dbus/system_bus_socket",
        "/run/user/1000/bus",
        "/tmp/dbus-x",
        "/tmp/.X11-unix/X0",
        "/run/user/1000/wayland-0",
        "/run/systemd/private",
        "/run/outcall/host.sock",
        "/run/outcall/agent.sock",
        "/home/ann/project/docker.sock",
    ] {
        cases.push(network(&format!("unix:{path}"), "unix"));
        for operation in ["read", "write", "rename", "link", "delete"] {
            cases.push(file(path, operation));
        }
    }
    for name in ["unix:@/tmp/.X11-unix/X0", "unix:@/tmp/dbus-x", "unix:@other", "unix:", "unix:@"] {
        cases.push(network(name, "unix"));
    }
    expect(Verdict::Block, cases);
}

#[test]
fn the_network_is_refused() {
    expect(
        Verdict::Block,
        vec![
            network("169.254.169.254:80", "metadata"),
            network("169.254.169.254:80", "link_local"),
            network("[fd00:ec2::254]:80", "private"),
            network("93.184.215.14:443", "public"),
            network("[2606:2800:220:1::1]:443", "public"),
            network("10.0.0.1:22", "private"),
            network("192.168.1.1:80", "private"),
            network("169.254.0.1:80", "link_local"),
            network("224.0.0.251:5353", "multicast"),
            network("127.0.0.53:53", "loopback"),
            network("1.2.3.4:5", "other"),
            network("unix:/run/nscd/socket", "unix"),
        ],
    );
}

#[test]
fn programs_that_leave_the_session_are_refused() {
    let tools = [
        "sudo",
        "su",
        "doas",
        "pkexec",
        "mount",
        "umount",
        "nsenter",
        "unshare",
        "chroot",
        "docker",
        "podman",
        "runc",
        "crun",
        "ctr",
        "nerdctl",
        "kubectl",
        "systemctl",
        "machinectl",
        "insmod",
        "modprobe",
        "ssh-add",
        "gpg-agent",
    ];
    let mut cases: Vec<Facts> =
        tools.iter().map(|tool| exec(&format!("/usr/bin/{tool}"))).collect();
    cases.extend(tools.iter().map(|tool| exec(&format!("/home/ann/project/{tool}"))));
    cases.extend(["/home/ann/bin/x", "/etc/x.sh", "/proc/9/exe", "/memfd:a", "x"].map(exec));
    expect(Verdict::Block, cases);
}

#[test]
fn everything_else_is_refused() {
    expect(
        Verdict::Block,
        vec![
            file("/home/ann/notes.txt", "read"),
            file("/home/ann/project/.config", "rename"),
            file("/proc/9/root/home/ann/notes.txt", "read"),
            file("/home/ann/project-evil/x", "read"),
            file("/home/ann/project/../.profile", "read"),
            file("/usr/bin/ls", "write"),
            file("/etc/passwd", "write"),
            file("/usr/lib/x.so", "create"),
            file("/root/.cargo/bin/cargo", "write"),
            file("/root/.bashrc", "write"),
            file("/dev/sda", "read"),
            file("/dev/null", "delete"),
            file("/proc/sys/kernel/core_pattern", "write"),
            file("/proc/9/uid_map", "write"),
            file("/sys/kernel/x", "write"),
            file("relative", "read"),
            file("", "read"),
            base(ActionType::ToolExec, "anything"),
        ],
    );
}

#[test]
fn a_refusal_names_its_rule_and_a_sentence() {
    let facts = file("/root/.ssh/id_rsa", "read");
    let decision = engine().decide(&facts);
    assert_eq!(decision.rule.as_ref().unwrap().id, "refuse-ssh-keys");
    assert_eq!(decision.reason(&facts), "SSH keys and configuration stay out of an agent's reach.");
}
