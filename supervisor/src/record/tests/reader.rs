use super::*;

/// A log over two days: numbers from 1 to `last`, with lines of very different lengths.
fn log(last: u64) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let write = |day: u32, range: std::ops::RangeInclusive<u64>| {
        let text: String = range
            .map(|seq| {
                let decision = if seq % 3 == 0 { "block" } else { "allow" };
                let long = "x".repeat(if seq % 50 == 0 { 100_000 } else { 10 });
                format!(
                    "{{\"v\":1,\"seq\":{seq},\"type\":\"decision\",\"decision\":\"{decision}\",\"target\":\"{long}\"}}\n"
                )
            })
            .collect();
        let path = directory.path().join(format!("decisions-2026-01-{day:02}.jsonl"));
        // What is being written at the moment is no record yet.
        std::fs::write(path, text + "{\"v\":1,\"seq\":9").unwrap();
    };
    write(1, 1..=last / 2);
    write(2, last / 2 + 1..=last);
    directory
}

fn numbers(page: &Page) -> Vec<u64> {
    page.records.iter().map(|record| record["seq"].as_u64().unwrap()).collect()
}

#[test]
fn pages_follow_each_other_over_files() {
    let log = log(1000);
    for since in [0, 1, 49, 50, 499, 500, 501, 990, 1000] {
        let query = Query { since_seq: Some(since), limit: Some(20), ..Query::default() };
        let page = read(log.path(), &query).unwrap();
        let expected: Vec<u64> = (since + 1..=1000).take(20).collect();
        assert_eq!(numbers(&page), expected, "since {since}");
        assert_eq!(page.complete, since >= 980, "since {since}");
        assert_eq!(page.last_seq, expected.last().copied().unwrap_or(since));
    }
}

#[test]
fn the_latest_come_oldest_first() {
    let log = log(1000);
    let query = Query { limit: Some(3), ..Query::default() };
    let page = read(log.path(), &query).unwrap();
    assert_eq!((numbers(&page), page.last_seq, page.complete), (vec![998, 999, 1000], 1000, true));
    let denied = super::super::query::Wanted::parse("denied");
    let query = Query { decision: denied, until_seq: Some(502), ..query };
    assert_eq!(numbers(&read(log.path(), &query).unwrap()), [495, 498, 501]);
    let all = Query { limit: Some(1000), ..Query::default() };
    assert_eq!(numbers(&read(log.path(), &all).unwrap()), (1..=1000).collect::<Vec<_>>());
}

#[test]
fn an_empty_log_has_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for since_seq in [None, Some(5)] {
        let page = read(directory.path(), &Query { since_seq, ..Query::default() }).unwrap();
        assert!(page.records.is_empty() && page.complete);
    }
}
