//! The texts of `--help` and `--version`.

/// The version, as a line.
pub(super) const VERSION: &str = concat!("outcall ", env!("CARGO_PKG_VERSION"), "\n");

const OVERVIEW: &str = "\
outcall: ask outcalld before acting, and act only if it allows it

Usage: outcall [--connected FD] VERB ...
       outcall [--connected FD] [--] PROG [ARGS...]

Run:
  run -- CMD [ARGS...]           a container's entrypoint: install the filter, then run CMD behind it
  exec PROG [ARGS...]            ask, then run PROG with exactly these arguments
  PROG [ARGS...]                 the same, for a PROG that is no verb
  bash|sh|shell [ARGS...]        the same, for a shell

Ask, and do nothing:
  fetch|http|https|curl|wget URL [METHOD]
  file|read|write PATH
  check TYPE TARGET [--meta K=V]... [--json]

Talk to the operator:
  why [--json]                   what was refused lately, and whether asking can help
  request FILE                   ask for the rules in FILE; - is standard input
  request status ID              what came of it

Options:
  --connected FD   use the connected Unix stream socket FD instead of /run/outcall/agent.sock;
                   for supervisors that start the shim themselves
  --help [VERB]    print this text, or that of a verb
  --version        print the version

Environment:
  OUTCALL_TIMEOUT_SECS   longest wait for one answer of outcalld, 1 to 300 (default 30)
  RUST_LOG               error, warn (default), info, debug or off; diagnostics go to stderr

Under any other name than outcall or outcall-agent, as a link named git does, it is: outcall exec NAME

Exit codes: 0 success, or the command's own; 128+N if signal N ended it; 1 blocked or failed;
5 outcalld unreachable
";

const RUN: &str = "\
Usage: outcall run [--connected FD] -- CMD [ARGS...]

Installs the filter that outcalld hands out, gives its listener to outcalld, and only then runs CMD. Stays
as CMD's parent: passes signals on, reaps orphans, and asks every 10 s whether outcalld is alive. If it
is not, CMD and everything below it is killed, and the exit code is 5.
";

const EXEC: &str = "\
Usage: outcall exec [--] PROG [ARGS...]
       outcall [--] PROG [ARGS...]
       outcall bash|sh|shell [ARGS...]

Asks whether PROG, as PATH finds it, may run with exactly these arguments (action shell_exec; metadata argv
and cwd), then runs that file with exactly these bytes; no shell reads them again. 'shell' is sh. If it
is blocked, the reason is on stderr, nothing runs, and the exit code is 1.
";

const FETCH: &str = "\
Usage: outcall fetch|http|https|curl|wget URL [METHOD]

Asks whether a request may be made (action network_call; metadata method, GET unless told) and prints the
verdict. Sends nothing. 'http' and 'https' add their scheme to a URL that has none. Exit code 0: allowed, 1:
blocked. To run the program curl, use: outcall exec curl ...
";

const FILE: &str = "\
Usage: outcall file|read|write PATH

Asks whether PATH may be read ('file', 'read') or written ('write') (action file_access; metadata operation
and requested) and prints the verdict. Links are followed; the file is not opened. Exit code 0: allowed, 1:
blocked.
";

const CHECK: &str = "\
Usage: outcall check TYPE TARGET [--meta K=V]... [--json]

Asks about any action and prints the verdict. TYPE is tool_exec, network_call, file_access or shell_exec.
Exit code 0: allowed, 1: blocked.
";

const WHY: &str = "\
Usage: outcall why [--json]

Prints this container's latest refusals: when, what, which rule, why, and whether asking can help.
";

const REQUEST: &str = "\
Usage: outcall request FILE
       outcall request status ID

Sends a whole rule file to the operator, who approves or rejects it; prints the request's id. The second
form prints what came of it: pending, approved or rejected, with the operator's reason.
";

/// The text for a verb; the overview for none.
pub(super) fn text(verb: Option<&str>) -> Option<&'static str> {
    Some(match verb {
        None => OVERVIEW,
        Some("run") => RUN,
        Some("exec" | "bash" | "sh" | "shell") => EXEC,
        Some("fetch" | "http" | "https" | "curl" | "wget") => FETCH,
        Some("file" | "read" | "write") => FILE,
        Some("check") => CHECK,
        Some("why") => WHY,
        Some("request") => REQUEST,
        Some(_) => return None,
    })
}
