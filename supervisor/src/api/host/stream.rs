//! Records as they are written, as server-sent events. The number of a record is the event's id:
//! a reader that comes back says the last one it has, and gets what it missed from the log.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Uri, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};
use tokio::time::Instant;

use super::Office;
use super::asks::{described, name};
use super::decisions::{number, pairs, unknown, wish};
use crate::api::Refusal;
use crate::judge::asks::{Announcement, Attendance};
use crate::record::query::Query;
use crate::record::reader::{Page, read};
use crate::record::stream::Published;

/// Readers at once: they must leave room for other requests.
pub(super) const MAX_READERS: usize = 32;
/// Events on their way to one reader; what comes after waits in the ring.
const EVENTS: usize = 16;
/// How often a silent stream says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// Records read from the log at a time.
const PAGE: usize = 100;

/// What a reader asked for.
struct Wish {
    query: Query,
    since: Option<u64>,
    /// Questions that wait for an operator, too.
    asks: bool,
    /// No records.
    silent: bool,
}

pub(super) async fn stream(
    State(office): State<Arc<Office>>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let wish = wished(&uri, &headers)?;
    let readers = office.readers.clone();
    let place = readers.try_acquire_owned();
    let place = place.map_err(|_| {
        let message = format!("{MAX_READERS} readers follow the stream already; end one of them");
        Refusal::new(503, message)
    })?;
    let (sender, receiver) = mpsc::channel(EVENTS);
    // From here on nothing is missed, whenever the reader's task begins.
    let records = office.door.recorder.stream.subscribe();
    let attendance = wish.asks.then(|| office.door.asks.attend());
    let Wish { query, since, silent, .. } = wish;
    let since = since.filter(|_| !silent);
    let reader =
        Reader { office, sender, query, silent, last: None, spoke: Instant::now(), _place: place };
    tokio::spawn(reader.follow(since, records, attendance));
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::new(Events(receiver))).into_response())
}

fn wished(uri: &Uri, headers: &HeaderMap) -> Result<Wish, Refusal> {
    let mut query = Query { limit: Some(PAGE), ..Query::default() };
    let (mut since, mut asks, mut silent) = (None, false, false);
    for (name, value) in pairs(uri)? {
        match name.as_str() {
            "since" => since = Some(number(&name, &value)?),
            "asks" => (asks, silent) = asked(&value)?,
            "since_seq" | "until_seq" | "limit" => return Err(unknown(&name)),
            _ => wish(&mut query, &name, value)?,
        }
    }
    // A reader that comes back knows better than the address it once used.
    if let Some(last) = headers.get("last-event-id") {
        let last = last.to_str().map_err(|_| Refusal::new(400, "Last-Event-ID is no text"))?;
        since = Some(number("Last-Event-ID", last)?);
    }
    Ok(Wish { query, since, asks, silent })
}

/// Whether questions are told, and whether they are told alone.
fn asked(value: &str) -> Result<(bool, bool), Refusal> {
    match value {
        "false" => Ok((false, false)),
        "true" => Ok((true, false)),
        "only" => Ok((true, true)),
        _ => Err(Refusal::new(400, format!("asks={value}: use true, false or only"))),
    }
}

/// The end of a stream that a connection reads.
struct Events(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Nobody reads any more.
struct Left;

struct Reader {
    office: Arc<Office>,
    sender: mpsc::Sender<Bytes>,
    query: Query,
    silent: bool,
    /// The number of the last record that was looked at.
    last: Option<u64>,
    /// When the silence began.
    spoke: Instant,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    async fn follow(
        mut self,
        since: Option<u64>,
        mut records: broadcast::Receiver<Published>,
        mut attendance: Option<Attendance>,
    ) {
        // A first sign of life: the reader knows that it is connected.
        if self.send(": outcall\n\n".to_owned()).await.is_err() {
            return;
        }
        if let Some(since) = since {
            self.last = Some(since);
            match self.catch_up().await {
                Ok(live) => records = live,
                Err(Left) => return,
            }
        }
        if attendance.is_some() {
            // Those that wait already; new ones are announced.
            for waiting in self.office.door.asks.list() {
                let event = event("ask", &described(&waiting));
                if self.send(event).await.is_err() {
                    return;
                }
            }
        }
        while self.next(&mut records, attendance.as_mut()).await.is_ok() {}
    }

    /// Waits for one thing to tell, and tells it.
    async fn next(
        &mut self,
        records: &mut broadcast::Receiver<Published>,
        attendance: Option<&mut Attendance>,
    ) -> Result<(), Left> {
        let silent = tokio::time::sleep_until(self.spoke + HEARTBEAT);
        tokio::select! {
            () = self.sender.closed() => Err(Left),
            record = records.recv() => match record {
                Ok(record) => self.tell(&record).await,
                // The numbers of the records themselves say how many are missing.
                Err(broadcast::error::RecvError::Lagged(_)) => Ok(()),
                Err(broadcast::error::RecvError::Closed) => Err(Left),
            },
            announcement = announced(attendance) => match announcement {
                Some(Announcement::Asked(waiting)) => self.send(event("ask", &described(&waiting))).await,
                Some(Announcement::Over { id, outcome }) => {
                    let over = json!({ "id": name(id), "outcome": outcome });
                    self.send(event("ask_over", &over)).await
                }
                None => Ok(()),
            },
            () = silent => self.send(": heartbeat\n\n".to_owned()).await,
        }
    }

    /// Tells what the log has after the last record, a page at a time. What comes back has
    /// everything after that.
    async fn catch_up(&mut self) -> Result<broadcast::Receiver<Published>, Left> {
        loop {
            let recorder = self.office.door.recorder.clone();
            let live = recorder.stream.subscribe();
            let query = Query { since_seq: self.last, ..self.query.clone() };
            let reading =
                tokio::task::spawn_blocking(move || read(recorder.directory(), &query)).await;
            let page = match reading {
                Ok(Ok(page)) => page,
                _ => {
                    tracing::warn!("the log cannot be read for a reader of the stream");
                    return Err(Left);
                }
            };
            let Page { records, last_seq, complete } = page;
            for record in records {
                let seq = record["seq"].as_u64().unwrap_or(last_seq);
                self.send(record_event(seq, &record, &record.to_string())).await?;
            }
            self.last = Some(last_seq);
            if complete {
                return Ok(live);
            }
        }
    }

    async fn tell(&mut self, record: &Published) -> Result<(), Left> {
        let seq = record.seq;
        // Not wanted, or already told from the log.
        if self.silent || self.last.is_some_and(|last| seq <= last) {
            return Ok(());
        }
        let missed = self.last.map_or(0, |last| seq - last - 1);
        if missed > 0 {
            let from = seq - missed;
            let told = json!({ "count": missed, "from": from, "to": seq - 1 });
            self.send(event("missed", &told)).await?;
        }
        self.last = Some(seq);
        match serde_json::from_str::<Value>(&record.line) {
            Ok(value) if self.query.takes(&value) => {
                self.send(record_event(seq, &value, &record.line)).await
            }
            _ => Ok(()),
        }
    }

    async fn send(&mut self, event: String) -> Result<(), Left> {
        self.spoke = Instant::now();
        self.sender.send(event.into()).await.map_err(|_| Left)
    }
}

/// The next announcement; without attendance there is never one.
async fn announced(attendance: Option<&mut Attendance>) -> Option<Announcement> {
    match attendance {
        // Who lags looks up what waits: GET /v1/asks.
        Some(attendance) => attendance.announcements.recv().await.ok(),
        None => std::future::pending().await,
    }
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn record_event(seq: u64, record: &Value, line: &str) -> String {
    let name = if record["type"] == "decision" { "decision" } else { "control" };
    format!("id: {seq}\nevent: {name}\ndata: {line}\n\n")
}
