//! Ordinary work behaves byte for byte and code for code as without Outcall.

use std::path::Path;

use integration::{both_ways, shell_both_ways};

const QUIET_GIT: &str = "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a \
    GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
    GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z';";

fn write(directory: &Path, name: &str, text: &str) {
    let path = directory.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn nothing(_: &Path) {}

#[test]
fn git_commits_clones_and_tells_its_status_and_log() {
    let script = format!(
        "{QUIET_GIT} set -e
        git init -q -b main origin; cd origin
        mkdir -p src; for i in 1 2 3 4 5; do echo \"file $i\" > src/$i.txt; done
        ln -s src/1.txt link; git add -A; git commit -q -m 'first commit'
        echo more >> src/1.txt; git commit -q -am second; git tag v1; cd ..
        git clone origin copy; cd copy
        git status; git log --stat --format='%H %s'; echo x > new; rm src/2.txt
        git status --short; git diff; git checkout -q -b side; git stash list; git gc -q
        git clone no-such-repository elsewhere || echo \"code $?\""
    );
    let twins = shell_both_ways(nothing, &script);
    // The index and the logs hold times and inode numbers.
    twins.succeeded().agree_except(&[".git/index"]);
}

#[test]
fn cargo_builds_a_crate_and_the_program_runs() {
    let prepare = |directory: &Path| {
        let manifest =
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
        write(directory, "Cargo.toml", manifest);
        write(
            directory,
            "src/main.rs",
            "mod part;\nfn main() { println!(\"{}\", part::two() + 40); }\n",
        );
        write(directory, "src/part.rs", "pub fn two() -> u8 { 2 }\nfn unused() {}\n");
    };
    let script = "unset CARGO_TARGET_DIR CARGO RUSTFLAGS; export CARGO_TERM_COLOR=never
        cargo build --offline --quiet; echo built $?; ./target/debug/demo; echo ran $?
        echo 'fn broken(' >> src/part.rs; cargo build --offline --quiet; echo built $?
        rm -r target; ls -a";
    let twins = shell_both_ways(prepare, script);
    twins.succeeded().agree();
    assert!(twins.native.out().contains("built 0\n42\nran 0\n"), "{}", twins.native.out());
}

#[test]
fn make_builds_a_c_program_with_four_jobs() {
    let prepare = |directory: &Path| {
        let mut main = String::from("#include <stdio.h>\n");
        for index in 1..=7 {
            let part = format!("int part{index}(void) {{ return {index}; }}\n");
            write(directory, &format!("part{index}.c"), &part);
            main.push_str(&format!("int part{index}(void);\n"));
        }
        main.push_str("int main(void) { printf(\"%d\\n\", part1()+part2()+part3()+part4()+part5()+part6()+part7()); return 3; }\n");
        write(directory, "main.c", &main);
        let rules = "parts := $(patsubst %.c,%.o,$(sort $(wildcard *.c)))\n\
            demo: $(parts)\n\t@gcc -o $@ $^\n%.o: %.c\n\t@gcc -O1 -c -o $@ $<\n\
            clean:\n\t@rm -f demo *.o\n";
        write(directory, "Makefile", rules);
    };
    let script = "make -j4; echo made $?; ./demo; echo ran $?; make -j4; touch part3.c; make -j4
        echo 'syntax error' > part4.c; make -j4 2>/dev/null; echo made $?; make no-such-target";
    let twins = shell_both_ways(prepare, script);
    twins.agree();
    assert!(twins.native.out().contains("made 0\n28\nran 3\n"), "{}", twins.native.out());
}

#[test]
fn a_python_script_uses_threads_and_subprocesses() {
    let script = r#"
import os, subprocess, sys, threading, concurrent.futures, multiprocessing, signal, tempfile, socket
def work(i):
    path = f"t{i}"
    for n in range(20):
        with open(path, "a") as f: f.write(f"{n}\n")
    os.rename(path, path + ".done")
    return sum(1 for _ in open(path + ".done"))
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(list(pool.map(work, range(16))))
def child(i):
    return subprocess.run(["/bin/sh", "-c", f"echo out {i}; echo err {i} >&2; exit {i}"], capture_output=True)
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    for done in pool.map(child, range(8)): print(done.returncode, done.stdout, done.stderr)
try: subprocess.run(["/no/such/program"])
except OSError as e: print(type(e).__name__, e)
pipe = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(len(pipe.communicate(b"x" * 300000)[0]), pipe.returncode)
sleeper = subprocess.Popen(["sleep", "100"]); sleeper.terminate(); print(sleeper.wait())
got = []
signal.signal(signal.SIGUSR1, lambda s, f: got.append(s)); os.kill(os.getpid(), signal.SIGUSR1); print(got)
def mp(q): q.put(os.path.exists("t1.done"))
queue = multiprocessing.Queue(); p = multiprocessing.Process(target=mp, args=(queue,)); p.start(); print(queue.get()); p.join()
server = socket.create_server(("127.0.0.1", 0)); t = threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")); t.start()
client = socket.create_connection(server.getsockname()); print(client.recv(5)); t.join()
with tempfile.TemporaryDirectory(dir=".") as d: open(d + "/x", "w").close(); print(os.listdir(d))
sys.stderr.write("the end\n"); sys.exit(5)
"#;
    let twins = both_ways(|directory| write(directory, "work.py", script), &["python3", "work.py"]);
    twins.agree();
    assert_eq!(twins.native.code, Some(5), "{}", twins.native.err());
}

#[test]
fn tar_creates_lists_and_extracts() {
    let prepare = |directory: &Path| {
        write(directory, "in/a/b/c.txt", "deep");
        write(directory, "in/exec.sh", "#!/bin/sh\n");
    };
    let script = "set -e; umask 027; chmod 4755 in/exec.sh; ln -s a/b/c.txt in/soft
        ln in/a/b/c.txt in/hard; mkfifo in/fifo; touch -d @1000000000 in/a/b/c.txt in/exec.sh
        touch -h -d @1000000000 in/soft; touch -d @1000000000 in/fifo in/a/b in/a in
        tar --sort=name -cvf x.tar in; tar -tvf x.tar; mkdir out; tar -C out -xvpf x.tar
        tar -czf x.tgz -C out in; tar -tzf x.tgz; stat -c '%n %a %h %Y' out/in/* ; cmp x.tar x.tar
        tar -xf missing.tar || echo code $?";
    shell_both_ways(prepare, script).succeeded().agree_except(&["x.tgz"]);
}

#[test]
fn find_and_xargs_work_through_many_files() {
    let prepare = |directory: &Path| {
        for index in 0..60 {
            let name = format!("d{}/file {index}.txt", index % 6);
            write(directory, &name, &"x".repeat(index));
        }
    };
    let script = "find . -type f -print0 | sort -z | xargs -0 -n 7 wc -c
        find . -name '*3.txt' -delete -print | sort; find . -type f | wc -l
        find . -type f -print0 | xargs -0 -P 4 -n 5 grep -l xxxxxxxxxx | sort
        find . -size +40c -exec sh -c 'mv \"$1\" \"$1.big\"' _ {} \\; ; find . | sort; find missing";
    shell_both_ways(prepare, script).agree();
}

#[test]
fn bash_pipelines_substitutions_traps_and_jobs() {
    let script = r#"
set -o pipefail
diff <(printf '1\n2\n3\n') <(printf '1\n3\n'); echo "diff $?"
cat <<END | tr a-z A-Z
here is $((6 * 7))
END
tee >(wc -c > count) > copy <<< "process substitution"; while [ ! -s count ]; do :; done; cat count copy
trap 'echo got usr1' USR1; kill -USR1 $$
(trap 'echo child exit' EXIT; exit 3); echo "sub $?"
for i in 1 2 3 4 5 6; do (echo "$i" > "job$i"; exit "$i") & pids="$pids $!"; done
for pid in $pids; do wait "$pid"; echo "job $?"; done
false | true; echo "pipe $?"; yes | head -n 2; echo "${PIPESTATUS[*]}"
coproc CAT { cat; }; echo through >&"${CAT[1]}"; read -r line <&"${CAT[0]}"; echo "$line"; kill "$CAT_PID"; wait "$CAT_PID" 2>/dev/null
exec 7<>file7; echo seven >&7; cat file7; exec 7>&-
echo to-stderr >&2; no-such-command; echo "code $?"; ./job1; echo "code $?"
cat < missing; echo > /no/dir/file; cd missing; set -C; echo x > copy
trap 'echo bye; exit 9' EXIT
kill -TERM $BASHPID
"#;
    shell_both_ways(nothing, script).agree();
}

#[test]
fn apt_get_tells_its_version() {
    both_ways(nothing, &["apt-get", "--version"]).succeeded().agree();
}

#[test]
fn a_node_program_uses_workers_children_and_signals() {
    let script = r#"
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { spawnSync, spawn } = require('child_process');
const fs = require('fs'), net = require('net');
if (!isMainThread) {
  for (let i = 0; i < 30; i++) fs.writeFileSync(`w${workerData}`, `${i}\n`, { flag: 'a' });
  parentPort.postMessage(fs.readFileSync(`w${workerData}`).length);
} else (async () => {
  const run = n => new Promise((ok, no) => { const w = new Worker(__filename, { workerData: n }); w.on('message', ok); w.on('error', no); });
  console.log(await Promise.all([1, 2, 3, 4].map(run)));
  const r = spawnSync('/bin/sh', ['-c', 'echo hi; exit 4']); console.log(r.status, String(r.stdout));
  console.log(spawnSync('/no/such').error.code);
  const sleeper = spawn('sleep', ['50']); sleeper.kill('SIGINT');
  console.log(await new Promise(ok => sleeper.on('exit', (c, s) => ok([c, s]))));
  const usr = new Promise(ok => process.on('SIGUSR2', ok)); const hold = setInterval(() => {}, 10); process.kill(process.pid, 'SIGUSR2'); console.log(await usr); clearInterval(hold);
  await Promise.all([...Array(50).keys()].map(i => fs.promises.writeFile(`p${i}`, `${i}`)));
  console.log((await Promise.all([...Array(50).keys()].map(i => fs.promises.readFile(`p${i}`, 'utf8')))).join());
  const server = net.createServer(s => s.end('served')); await new Promise(ok => server.listen('s.sock', ok));
  console.log(await new Promise(ok => net.connect('s.sock').on('data', d => ok(String(d))))); server.close();
  try { fs.readFileSync('missing'); } catch (e) { console.log(e.code, e.syscall); }
  process.exitCode = 6;
})();
"#;
    let twins = both_ways(|directory| write(directory, "work.js", script), &["node", "work.js"]);
    twins.agree();
    assert_eq!(twins.native.code, Some(6), "{}", twins.native.err());
}

#[test]
fn death_by_a_signal_and_every_exit_code_come_back() {
    for script in ["exit 255", "kill -SEGV $$", "kill -TERM $$", "exec true"] {
        shell_both_ways(nothing, &format!("ulimit -c 0; {script}")).agree();
    }
}
