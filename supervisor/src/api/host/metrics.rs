//! Numbers for Prometheus. Every label has a fixed set of values.

use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::Office;
use crate::record::tally::{BOUNDS, Tally};

pub(super) async fn metrics(State(office): State<Arc<Office>>) -> Response {
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, exposition(&office)).into_response()
}

fn exposition(office: &Office) -> String {
    let door = &office.door;
    let rules = door.rules.current();
    let mut text = Text::default();
    text.head("outcall_build_info", "gauge", "The version that runs.");
    text.sample("outcall_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    let started = office.started.as_millisecond() as f64 / 1000.0;
    text.gauge("outcall_start_time_seconds", "When the daemon started, in Unix time.", started);
    decisions(&mut text, &door.recorder.tally);
    text.gauge("outcall_sessions", "Sessions that run.", door.session_count());
    let healthy = u8::from(door.recorder.is_healthy());
    text.gauge(
        "outcall_log_healthy",
        "1 while the log can be written; else all is refused.",
        healthy,
    );
    text.gauge("outcall_policy_generation", "Grows with each change of rules.", rules.generation);
    text.gauge("outcall_policy_rules", "Rules in force.", rules.engine.rules().len());
    let failing = u8::from(door.rules.last().failure.is_some());
    text.gauge("outcall_policy_reload_failing", "1 while the rule files have mistakes.", failing);
    text.gauge(
        "outcall_asks_waiting",
        "Questions that wait for an operator.",
        door.asks.list().len(),
    );
    let connections = &office.connections;
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let open = count(&connections.open);
    text.gauge("outcall_host_connections", "Open connections to the host socket.", open);
    let name = "outcall_host_connections_total";
    text.head(name, "counter", "Connections to the host socket, by what became of them.");
    text.sample(name, "outcome=\"accepted\"", count(&connections.accepted));
    text.sample(name, "outcome=\"refused\"", count(&connections.refused));
    let denied = crate::receive::self_denied();
    let name = "outcall_self_denied_total";
    text.head(name, "counter", "Calls that were dropped unanswered and denied themselves.");
    text.sample(name, "", denied);
    text.0
}

fn decisions(text: &mut Text, tally: &Tally) {
    let name = "outcall_decisions_total";
    text.head(name, "counter", "Decisions on record, by verdict and safety class of the answer.");
    for (verdict, class, count) in tally.decisions() {
        text.sample(name, &format!("verdict=\"{verdict}\",answer=\"{class}\""), count);
    }
    let name = "outcall_decision_stage_seconds";
    text.head(name, "histogram", "Time that decisions took, by stage.");
    for (stage, histogram) in tally.latency() {
        let cumulated = histogram.cumulated();
        let total = cumulated.last().copied().unwrap_or(0);
        let bounds = BOUNDS.iter().map(|micros| (f64::from(*micros) / 1e6).to_string());
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(&cumulated) {
            let labels = format!("stage=\"{stage}\",le=\"{bound}\"");
            text.sample(&format!("{name}_bucket"), &labels, count);
        }
        let labels = format!("stage=\"{stage}\"");
        text.sample(&format!("{name}_sum"), &labels, histogram.seconds());
        text.sample(&format!("{name}_count"), &labels, total);
    }
}

/// The text format, line by line. Writing into a string cannot fail.
#[derive(Debug, Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.head(name, "gauge", help);
        self.sample(name, "", value);
    }
}
