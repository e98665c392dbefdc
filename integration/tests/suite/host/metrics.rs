//! The metrics, read as Prometheus reads them.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Samples by name and labels, after every line was checked.
fn parsed(text: &str) -> BTreeMap<String, f64> {
    let (mut kinds, mut helped) = (BTreeMap::new(), BTreeSet::new());
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| {
                name.strip_suffix(end)
                    .filter(|name| kinds.get(*name).is_some_and(|k| k == "histogram"))
            });
            let family = family.unwrap_or(name);
            let kind = kinds.get(family).unwrap_or_else(|| panic!("no type before {line}"));
            assert!(helped.contains(family), "no help for {line}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
            if let Some(labels) = series.strip_prefix(name).and_then(|rest| rest.strip_prefix('{'))
            {
                for label in labels.strip_suffix('}').unwrap().split(',') {
                    let (key, value) = label.split_once('=').unwrap();
                    assert!(key.bytes().all(|b| b.is_ascii_lowercase()), "{line}");
                    assert!(value.starts_with('"') && value.ends_with('"'), "{line}");
                }
            }
            let value: f64 = value.parse().unwrap();
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {line}");
        }
    }
    samples
}

#[test]
fn metrics_can_be_parsed_and_add_up() {
    let served = served();
    let before = parsed(&served.text(&[], "/metrics").1);
    let ((), _) = during(&served, "cat secret; cat file", || {
        let (status, text) = served.text(&[], "/metrics");
        assert_eq!(status, 200);
        assert_eq!(parsed(&text)["outcall_sessions"], 1.0);
    });
    let after = parsed(&served.text(&[], "/metrics").1);
    assert_eq!(after["outcall_decisions_total{verdict=\"block\",answer=\"refused\"}"], 1.0);
    let sum = |samples: &BTreeMap<String, f64>, start: &str| -> f64 {
        samples.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, value)| value).sum()
    };
    let decisions = sum(&after, "outcall_decisions_total");
    assert!(decisions >= served.records("decision").len() as f64 && decisions > 10.0);
    for stage in ["resolve", "decide", "answer"] {
        let count = format!("outcall_decision_stage_seconds_count{{stage=\"{stage}\"}}");
        let last =
            format!("outcall_decision_stage_seconds_bucket{{stage=\"{stage}\",le=\"+Inf\"}}");
        assert_eq!((after[&count], after[&last]), (decisions, decisions));
        let buckets: Vec<f64> = text_order(&served, stage);
        assert!(buckets.is_sorted(), "{buckets:?}");
    }
    assert_eq!((after["outcall_log_healthy"], after["outcall_policy_generation"]), (1.0, 1.0));
    assert!(after["outcall_host_connections"] >= 1.0);
    let accepted = "outcall_host_connections_total{outcome=\"accepted\"}";
    assert!(after[accepted] > before[accepted]);
    // What happens adds no series: labels do not grow.
    let names = |samples: &BTreeMap<String, f64>| samples.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
}

/// The buckets of a stage, in the order in which they are told.
fn text_order(served: &Served, stage: &str) -> Vec<f64> {
    let (_, text) = served.text(&[], "/metrics");
    let start = format!("outcall_decision_stage_seconds_bucket{{stage=\"{stage}\"");
    let lines = text.lines().filter(|line| line.starts_with(&start));
    lines.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect()
}
