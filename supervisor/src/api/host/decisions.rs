//! The decision log, queried.

use std::sync::Arc;

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use serde_json::json;

use super::Office;
use super::routes::beside;
use crate::api::envelope::{Refusal, success};
use crate::record::query::{MAX_LIMIT, Query, Wanted};
use crate::record::reader::read;

/// Every name in the query of a request for records.
const NAMES: [&str; 11] = [
    "since_seq",
    "until_seq",
    "session",
    "container",
    "decision",
    "rule",
    "syscall",
    "type",
    "limit",
    "since",
    "asks",
];

pub(super) async fn decisions(
    State(office): State<Arc<Office>>,
    uri: Uri,
) -> Result<Response, Refusal> {
    let mut query = Query::default();
    for (name, value) in pairs(&uri)? {
        wish(&mut query, &name, value)?;
    }
    let recorder = office.door.recorder.clone();
    let page = beside(move || read(recorder.directory(), &query)).await?;
    let page = page.map_err(|error| Refusal::new(500, format!("cannot read the log: {error}")))?;
    Ok(success(json!({
        "records": page.records,
        "last_seq": page.last_seq,
        "complete": page.complete,
    })))
}

/// Adds one pair to what is asked for.
pub(super) fn wish(query: &mut Query, name: &str, value: String) -> Result<(), Refusal> {
    match name {
        "since_seq" => query.since_seq = Some(number(name, &value)?),
        "until_seq" => query.until_seq = Some(number(name, &value)?),
        "session" => query.session = Some(value),
        "container" => query.container = Some(value),
        "rule" => query.rule = Some(value),
        "syscall" => query.syscall = Some(value),
        "decision" => {
            let words = Wanted::WORDS.join(", ");
            let wrong = || Refusal::new(400, format!("'{value}' is not one of {words}"));
            query.decision = Some(Wanted::parse(&value).ok_or_else(wrong)?);
        }
        "type" => {
            query.any_type = match value.as_str() {
                "any" => true,
                "decision" => false,
                _ => return Err(Refusal::new(400, format!("type={value}: use any or decision"))),
            };
        }
        "limit" => {
            let limit = usize::try_from(number(name, &value)?).unwrap_or(usize::MAX);
            if !(1..=MAX_LIMIT).contains(&limit) {
                let message = format!("limit={value}: use 1 to {MAX_LIMIT}");
                return Err(Refusal::new(400, message));
            }
            query.limit = Some(limit);
        }
        _ => return Err(unknown(name)),
    }
    Ok(())
}

pub(super) fn unknown(name: &str) -> Refusal {
    let near = Some(name).filter(|name| name.len() <= 64);
    let hint = near.and_then(|name| crate::config::nearest(name, &NAMES));
    let hint = hint.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default();
    Refusal::new(400, format!("nothing is known about '{name}' in the query{hint}"))
}

pub(super) fn number(name: &str, value: &str) -> Result<u64, Refusal> {
    value.parse().map_err(|_| Refusal::new(400, format!("{name}={value}: not a whole number")))
}

/// The query of a request as names and values.
pub(super) fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, Refusal> {
    let query = uri.query().unwrap_or_default();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((decoded(name)?, decoded(value)?))
        })
        .collect()
}

/// `%2F` and `+` as they are meant.
fn decoded(text: &str) -> Result<String, Refusal> {
    let wrong = || Refusal::new(400, format!("'{text}' is not well encoded"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits =
                    rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                let digits = std::str::from_utf8(digits.ok_or_else(wrong)?).map_err(|_| wrong())?;
                bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
                rest = &rest[2..];
            }
            plain => bytes.push(*plain),
        }
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_or_refused() {
        assert_eq!(decoded("a%2Fb+c").unwrap(), "a/b c");
        for wrong in ["%", "%2", "%+1", "%ff", "%zz"] {
            assert_eq!(decoded(wrong).unwrap_err().status, 400, "{wrong}");
        }
    }

    #[test]
    fn wishes_are_checked() {
        let mut query = Query::default();
        for (name, value, said) in [
            ("limit", "0", "use 1 to 1000"),
            ("limit", "1001", "use 1 to 1000"),
            ("since_seq", "-1", "not a whole number"),
            ("decision", "deny", "is not one of"),
            ("sesion", "x", "did you mean 'session'?"),
        ] {
            let refusal = wish(&mut query, name, value.to_owned()).unwrap_err();
            assert!(refusal.status == 400 && refusal.message.contains(said), "{refusal:?}");
        }
        assert_eq!(query, Query::default());
    }
}
