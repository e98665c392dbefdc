//! Supervised programs that ask their own supervisor at the constant path.

use integration::served::Served;
use integration::supervised::ALLOW_ALL;
use integration::{Finished, Supervised, machine};
use serde_json::Value;

const ASK: &str = "curl -sS --unix-socket /run/outcall/agent.sock";

fn data(line: &str) -> Value {
    let answer: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(answer["success"], true, "{line}");
    answer["data"].clone()
}

fn asks(run: &Supervised) -> Finished {
    let finished = run.shell(&format!(
        "echo $OUTCALL_AGENT_SOCKET; {ASK} http://x/v1/heartbeat; echo; \
         {ASK} -H 'Content-Type: application/json' -d '{{}}' http://x/v1/checkin"
    ));
    finished.succeeded();
    let lines: Vec<String> = finished.out().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "/run/outcall/agent.sock");
    assert_eq!(data(&lines[1])["alive"], true);
    let checked_in = data(&lines[2]);
    assert!(checked_in["container_id"].as_str().unwrap().starts_with("run-"), "{checked_in}");
    assert_eq!(checked_in["session_token"].as_str().unwrap().len(), 36);
    finished
}

/// A run without a daemon has the API of its own supervisor, whatever the rules say, and leaves
/// nothing behind.
#[test]
fn a_run_has_its_own_agent_api() {
    let run = Supervised::allowing_all();
    let finished = asks(&run);
    let visits = finished.about("unix:/run/outcall/agent.sock");
    assert_eq!(visits.len(), 2);
    for visit in visits {
        assert_eq!((&visit["decision"], &visit["answer"]), (&"allow".into(), &"on_behalf".into()));
        assert_eq!(visit["rule"], "builtin:agent-socket");
    }
    let left: Vec<_> = std::fs::read_dir(run.outside().join("log")).unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let observed = Supervised::allowing_all().option("--mode").option("observe");
    asks(&observed);
}

#[test]
fn an_ordinary_users_run_has_it_too() {
    if machine::require_root("ordinary user") {
        asks(&Supervised::allowing_all().as_user(12_345));
    }
}

/// A root's run whose program became somebody else is still its own session.
#[test]
fn whoever_a_program_becomes_it_is_of_its_session() {
    if !machine::require_root("change of user") {
        return;
    }
    let become_other = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let finished = Supervised::allowing_all().shell(&format!(
        "{ASK} -X POST http://x/v1/checkin; echo; {become_other} {ASK} -X POST http://x/v1/checkin"
    ));
    let out = finished.out();
    let tokens: Vec<Value> = out.lines().map(|line| data(line)["session_token"].clone()).collect();
    assert_eq!(tokens.len(), 2, "{out}{}", finished.err());
    assert_eq!(tokens[0], tokens[1]);
}

/// Two runs at once: each has its own token, and the other's is worth nothing there.
#[test]
fn runs_know_nothing_of_each_other() {
    let (first, second) = (Supervised::allowing_all(), Supervised::allowing_all());
    let shared = tempfile::tempdir().unwrap();
    let script = |own: &str, other: &str| {
        let at = shared.path().display();
        format!(
            "{ASK} -X POST http://x/v1/checkin > {at}/{own}.new; mv {at}/{own}.new {at}/{own}\n\
             i=0; while [ ! -e {at}/{other} ] && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done\n\
             token=$(grep -o 'tok-[0-9a-f]*' {at}/{other})\n\
             {ASK} -o /dev/null -w '%{{http_code}}\\n' -H \"Authorization: Bearer $token\" http://x/v1/profile\n\
             token=$(grep -o 'tok-[0-9a-f]*' {at}/{own})\n\
             {ASK} -o /dev/null -w '%{{http_code}}\\n' -H \"Authorization: Bearer $token\" http://x/v1/profile\n\
             touch {at}/{own}.done\n\
             i=0; while [ ! -e {at}/{other}.done ] && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done\n"
        )
    };
    let (a, b) = (script("a", "b"), script("b", "a"));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| second.shell(&b));
        for finished in [first.shell(&a), other.join().unwrap()] {
            assert_eq!(finished.out(), "401\n200\n", "{}", finished.err());
        }
    });
}

/// Under a daemon the constant path, and the daemon's own, mean that daemon, and say which session asks.
#[test]
fn a_daemons_sessions_are_told_apart() {
    let served = Served::with_rules(|rules| {
        std::fs::write(rules.join("a.yaml"), ALLOW_ALL).unwrap();
    });
    let own = served.agent_socket();
    let session = || {
        let output = served.session(&format!(
            "{ASK} -X POST http://x/v1/checkin; echo; \
             curl -sS --unix-socket {} -X POST http://x/v1/checkin; echo; \
             ln -s {} link; curl -sS --unix-socket link -X POST http://x/v1/checkin; rm link",
            own.display(),
            own.display()
        ));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found: Vec<Value> = text.lines().map(data).collect();
        assert_eq!(found.len(), 3, "{output:?}");
        assert!(found.iter().all(|answer| *answer == found[0]), "{text}");
        assert!(found[0]["container_id"].as_str().unwrap().starts_with("host-"), "{text}");
        found[0]["session_token"].clone()
    };
    assert_ne!(session(), session());
}

/// Many programs at once are not taken for each other: each connection is asked about itself.
#[test]
fn many_connections_at_once_keep_their_order() {
    let script = "import socket, threading\n\
        def ask(results):\n\
        \x20   for _ in range(50):\n\
        \x20       s = socket.socket(socket.AF_UNIX); s.connect('/run/outcall/agent.sock')\n\
        \x20       s.sendall(b'POST /v1/checkin HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n')\n\
        \x20       results.append(s.recv(9999).split()[1])\n\
        \x20       s.close()\n\
        results = []\n\
        threads = [threading.Thread(target=ask, args=(results,)) for _ in range(8)]\n\
        [t.start() for t in threads]; [t.join() for t in threads]\n\
        print(len(results), set(results))\n";
    let run = Supervised::allowing_all();
    let finished = run.run(&["/usr/bin/python3", "-c", script]);
    assert_eq!(finished.out(), "400 {b'200'}\n", "{}", finished.err());
}
