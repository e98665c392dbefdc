//! Test-only: single mitigations off, so that an attack test can show the attack working. Compiled
//! in only with the feature `unsafe-test-switches`.

use crate::resolve::Request;

/// Whether this call is answered "read, then CONTINUE", the racy way: `OUTCALL_TEST_RACY` lists
/// `open`, `connect` and `exec`.
pub(crate) fn continues(request: &Request) -> bool {
    let kind = match request {
        Request::Open(_) => "open",
        Request::Connect(_) => "connect",
        Request::Exec(_) => "exec",
        _ => return false,
    };
    std::env::var("OUTCALL_TEST_RACY").is_ok_and(|kinds| kinds.split(',').any(|k| k == kind))
}
