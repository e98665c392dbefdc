//! A question from flags: given facts, and those that follow from the target at the kernel's door.

use std::net::IpAddr;

use policy::{ActionType, Facts, Network, set_fact};

use super::Fault;
use crate::cli::arguments::rules::Details;
use crate::facts::{class_of, command, reached};

pub(super) fn facts(action: ActionType, target: &str, details: &Details) -> Result<Facts, Fault> {
    let mut facts = Facts { action_type: action, target: target.to_owned(), ..Facts::default() };
    for (name, value) in &details.fact {
        if let Some(flag) = match name.as_str() {
            "action_type" => Some("--action"),
            "target" => Some("--target"),
            _ => None,
        } {
            return Err(Fault::Usage(format!("--fact {name}: the flag for this is {flag}")));
        }
        set_fact(&mut facts, name, value)
            .map_err(|error| Fault::Usage(format!("--fact {name}={value}: {error}")))?;
    }
    facts.metadata.extend(details.meta.iter().cloned());
    policy::complete(&mut facts);
    match action {
        ActionType::ShellExec => complete_command(&mut facts),
        ActionType::NetworkCall => complete_address(target, &mut facts.network),
        ActionType::FileAccess | ActionType::ToolExec => {}
    }
    Ok(facts)
}

fn complete_command(facts: &mut Facts) {
    let derived = command(&facts.exec.path, &facts.exec.argv, &facts.exec.cwd);
    let run = &mut facts.run;
    set_if_empty(&mut run.tool, &derived.tool);
    set_if_empty(&mut run.cwd, &derived.cwd);
    if run.args.is_empty() && run.flags.is_empty() {
        (run.args, run.flags) = (derived.args, derived.flags);
    }
}

fn complete_address(target: &str, network: &mut Network) {
    let kind = target.split_once(':').map(|(kind, _)| kind);
    if let Some((family, class)) = match kind {
        Some("unix") => Some(("unix", "unix")),
        Some("netlink") => Some(("netlink", "kernel")),
        _ => None,
    } {
        set_if_empty(&mut network.family, family);
        set_if_empty(&mut network.protocol, family);
        set_if_empty(&mut network.class, class);
        return;
    }
    let (host, port) = host_and_port(target);
    match address(host) {
        Some(ip) => set_if_empty(&mut network.ip, &ip.to_string()),
        None if is_host_name(host) => set_if_empty(&mut network.hostname, host),
        None => {}
    }
    if network.port == 0 {
        network.port = port.map_or(0, i64::from);
    }
    if let Some(ip) = address(&network.ip) {
        set_if_empty(&mut network.family, if ip.is_ipv4() { "inet" } else { "inet6" });
        set_if_empty(&mut network.class, class_of(ip));
    }
}

fn set_if_empty(slot: &mut String, value: &str) {
    if slot.is_empty() {
        value.clone_into(slot);
    }
}

/// An address as the kernel's door would see it: v4-mapped ones are IPv4.
fn address(host: &str) -> Option<IpAddr> {
    let host = host.split_once('%').map_or(host, |(host, _scope)| host);
    host.parse::<IpAddr>().ok().map(|ip| reached(ip.to_canonical()))
}

/// `host:port`, `[v6]:port`, or either without the port.
fn host_and_port(target: &str) -> (&str, Option<u16>) {
    if let Some((host, rest)) = target.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, rest.strip_prefix(':').and_then(|port| port.parse().ok()));
    }
    match target.rsplit_once(':') {
        // More than one colon without brackets is an IPv6 address.
        Some((host, port)) if !host.contains(':') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (target, None),
        },
        _ => (target, None),
    }
}

fn is_host_name(host: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    !host.is_empty() && host.chars().all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(action: ActionType, target: &str, facts: &[(&str, &str)]) -> Facts {
        let fact = facts.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        super::facts(action, target, &Details { meta: vec![("k".into(), "v".into())], fact })
            .unwrap()
    }

    #[test]
    fn an_address_follows_from_the_target() {
        for (target, ip, port, hostname, class, family) in [
            ("10.0.0.1:80", "10.0.0.1", 80, "", "private", "inet"),
            ("[::1]:8080", "::1", 8080, "", "loopback", "inet6"),
            ("[::ffff:8.8.8.8]:53", "8.8.8.8", 53, "", "public", "inet"),
            ("[fe80::1%3]:22", "fe80::1", 22, "", "link_local", "inet6"),
            ("0.0.0.0:1", "127.0.0.1", 1, "", "loopback", "inet"),
            ("::1", "::1", 0, "", "loopback", "inet6"),
            ("169.254.169.254", "169.254.169.254", 0, "", "metadata", "inet"),
            ("example.com:443", "", 443, "example.com", "", ""),
            ("example.com", "", 0, "example.com", "", ""),
            ("https://example.com:443", "", 0, "", "", ""),
            ("example.com:99999", "", 0, "", "", ""),
            ("", "", 0, "", "", ""),
            ("unix:/tmp/x", "", 0, "", "unix", "unix"),
            ("netlink:0", "", 0, "", "kernel", "netlink"),
        ] {
            let network = ask(ActionType::NetworkCall, target, &[]).network;
            assert_eq!(
                (network.ip.as_str(), network.port, network.hostname.as_str()),
                (ip, port, hostname),
                "{target}"
            );
            assert_eq!((network.class.as_str(), network.family.as_str()), (class, family));
        }
    }

    #[test]
    fn what_is_given_stands() {
        let facts = ask(
            ActionType::NetworkCall,
            "example.com:443",
            &[("network.ip", "10.0.0.1"), ("network.port", "5"), ("network.family", "odd")],
        );
        let network = facts.network;
        assert_eq!((network.ip.as_str(), network.port), ("10.0.0.1", 5));
        assert_eq!((network.class.as_str(), network.family.as_str()), ("private", "odd"));
        assert_eq!(facts.metadata["k"], "v");
    }

    #[test]
    fn a_command_follows_from_its_arguments() {
        let argv = [("exec.argv", "git"), ("exec.argv", "-v"), ("exec.argv", "push")];
        let run = ask(ActionType::ShellExec, "/usr/bin/git", &argv).run;
        assert_eq!(
            (run.tool.as_str(), run.args, run.flags),
            ("git", vec!["push".into()], vec!["-v".into()])
        );
    }
}
