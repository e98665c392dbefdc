//! Connections and messages: each table gives natively and supervised the same lines.

use std::ffi::OsStr;
use std::path::Path;

use integration::{Supervised, both_ways, probe};
use serde_json::Value;

fn nothing(_: &Path) {}

#[track_caller]
fn same(program: &str, section: &str) {
    let program = probe(program);
    let patience = ["timeout", "--foreground", "20"].map(OsStr::new);
    let command = [&patience[..], &[program.as_os_str(), section.as_ref()]].concat();
    let twins = both_ways(nothing, &command);
    twins.succeeded().agree();
    assert!(twins.native.stdout.len() > 20, "the table is empty: {}", twins.native.out());
}

#[test]
fn tcp_connects_blocking_and_not_and_is_refused() {
    same("probe_network", "tcp");
}

#[test]
fn ipv6_and_mapped_addresses_connect() {
    same("probe_network", "six");
}

#[test]
fn unix_paths_connect_and_fail_alike() {
    same("probe_network", "unix");
}

#[test]
fn abstract_names_connect_to_the_byte() {
    same("probe_network", "abstract");
}

#[test]
fn bad_lengths_pointers_and_descriptors_fail_alike() {
    same("probe_network", "lengths");
}

#[test]
fn a_connect_that_waits_is_interrupted() {
    same("probe_network", "backlog");
}

#[test]
fn an_unspecified_address_dissolves_a_connection() {
    same("probe_network", "udp");
}

#[test]
fn a_server_sees_the_callers_ids() {
    same("probe_network", "peer");
}

#[test]
fn datagrams_are_sent_with_and_without_an_address() {
    same("probe_send", "datagrams");
}

#[test]
fn a_batch_tells_the_length_of_each_message() {
    same("probe_send", "many");
}

#[test]
fn unix_datagrams_reach_a_path() {
    same("probe_send", "unix");
}

#[test]
fn descriptors_are_passed_on() {
    same("probe_send", "rights");
}

#[test]
fn a_broken_pipe_signals_the_sender() {
    same("probe_send", "pipe");
}

#[test]
fn eight_megabytes_go_out_in_one_blocking_send() {
    same("probe_send", "large");
}

#[test]
fn a_send_that_waits_is_interrupted() {
    same("probe_send", "full");
}

#[test]
fn messages_on_a_connected_stream_ignore_their_address() {
    same("probe_send", "stream");
}

/// Tries to reach an address under the built-in rules, where that is refused before anything is
/// sent, and checks sentence, errno and record.
#[track_caller]
fn refused(how: &str, host: &str, port: &str) {
    let program = probe("probe_reach");
    // Programs of the session may run: the probe must lie within it.
    let run = Supervised::by_default_rules();
    let own = run.workspace().join("reach");
    std::fs::copy(program, &own).unwrap();
    let arguments = [own.as_os_str(), how.as_ref(), host.as_ref(), port.as_ref()];
    let finished = run.run(&arguments);
    let text = format!("{how} {host}\n{}{}", finished.out(), finished.err());
    assert!(finished.out().ends_with("=> Operation not permitted (os error 1)\n"), "{text}");
    assert!(finished.err().contains("outcall: refused"), "{text}");
    let of_network = |line: &&Value| line["action_type"] == "network_call";
    let records: Vec<_> = finished.log.iter().filter(of_network).collect();
    assert_eq!(records.len(), 1, "{text}{records:#?}");
    assert_eq!(records[0]["decision"], "block", "{text}");
    assert_eq!(records[0]["answer"], "refused", "{text}");
}

const WAYS: [&str; 6] = ["connect", "nonblocking", "associate", "sendto", "sendmsg", "sendmmsg"];

#[test]
fn other_machines_are_refused_in_every_way() {
    for how in WAYS {
        refused(how, "10.1.2.3", "443");
        refused(how, "8.8.8.8", "53");
        refused(how, "169.254.169.254", "80");
    }
}

#[test]
fn mapped_and_ipv6_addresses_of_other_machines_are_refused() {
    for how in WAYS {
        refused(how, "::ffff:10.1.2.3", "443");
        refused(how, "::ffff:8.8.8.8", "53");
        refused(how, "::ffff:169.254.169.254", "80");
    }
    refused("connect", "2001:4860:4860::8888", "53");
    refused("connect", "fd00:ec2::254", "80");
    refused("sendto", "fe80::1", "80");
    refused("sendto", "ff02::1", "80");
    refused("sendto", "224.0.0.1", "80");
}

#[test]
fn a_local_resolver_is_refused() {
    refused("connect", "127.0.0.53", "53");
    refused("sendto", "127.0.0.1", "53");
    refused("sendto", "::ffff:127.0.0.1", "53");
    refused("sendto", "0.0.0.0", "53");
    refused("sendto", "::", "53");
}

#[test]
fn a_fast_open_is_refused_by_the_filter_alone() {
    // It would connect without a connect(); the flag is a register, so nobody needs to be asked.
    let run = Supervised::allowing_all();
    for host in ["10.1.2.3", "::ffff:169.254.169.254", "127.0.0.1"] {
        let finished = run.run(&[
            probe("probe_reach").as_os_str(),
            "fastopen".as_ref(),
            host.as_ref(),
            "9".as_ref(),
        ]);
        let text = finished.out();
        assert!(text.ends_with("=> Operation not permitted (os error 1)\n"), "{text}");
        assert!(finished.log.iter().all(|line| line["action_type"] != "network_call"), "{text}");
    }
}

#[test]
fn the_socket_of_a_container_engine_is_refused_under_any_name() {
    let scratch = tempfile::tempdir().unwrap();
    let socket = scratch.path().join("docker.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let link = scratch.path().join("harmless");
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    for path in [&socket, &link] {
        refused("connect", path.to_str().unwrap(), "0");
        refused("sendto", path.to_str().unwrap(), "0");
    }
    assert!(listener.accept().is_err(), "somebody reached it");
}

#[test]
fn a_closed_connection_is_closed_at_once() {
    same("probe_close", "stream");
}
