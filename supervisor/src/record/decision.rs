//! The schema of the log, version 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version that every line carries.
pub(crate) const VERSION: u32 = 1;

/// What a decision was about.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct ObjectRecord {
    /// As the caller wrote it; bytes that are no text appear as `\xNN`.
    pub(crate) requested: String,
    /// As it was found.
    pub(crate) resolved: String,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

/// Where the time of a decision went, in microseconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(crate) struct LatencySplit {
    /// From the kernel's queue to a worker; the kernel does not tell how long a call waited there.
    pub(crate) queue: Option<f64>,
    pub(crate) resolve: f64,
    pub(crate) decide: f64,
    pub(crate) answer: f64,
}

/// Which policy decided.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct PolicyRecord {
    pub(crate) digest: String,
    pub(crate) generation: u64,
}

/// One decision.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct DecisionRecord {
    /// The door: `kernel`, or `api` for an explicit check.
    #[serde(default = "kernel")]
    pub(crate) source: String,
    pub(crate) session: String,
    pub(crate) container: Option<String>,
    pub(crate) exec_id: u64,
    pub(crate) parent_exec_id: Option<u64>,
    pub(crate) tid: i32,
    pub(crate) tgid: i32,
    pub(crate) exe: String,
    pub(crate) arch: String,
    pub(crate) syscall: String,
    pub(crate) args: Vec<String>,
    pub(crate) action_type: String,
    pub(crate) operation: String,
    pub(crate) target: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) argv: Vec<String>,
    /// Bytes of arguments beyond those of `argv`, which the record leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) argv_cut: usize,
    pub(crate) object: ObjectRecord,
    /// allow, block, ask, or `none` where the call failed before anything was to be decided.
    pub(crate) decision: String,
    pub(crate) errno: Option<String>,
    /// The safety class of the answer.
    pub(crate) answer: String,
    pub(crate) rule: Option<String>,
    pub(crate) rule_origin: Option<String>,
    pub(crate) policy: PolicyRecord,
    pub(crate) reason: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    /// The rule keeps its refusals off the screen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) quiet: bool,
    pub(crate) latency_us: LatencySplit,
    pub(crate) mode: String,
    /// What an explicit check sent along.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: BTreeMap<String, String>,
}

fn kernel() -> String {
    "kernel".to_owned()
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// One line of the log.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Line<T> {
    pub(crate) v: u32,
    pub(crate) seq: u64,
    pub(crate) time: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(flatten)]
    pub(crate) body: T,
}
