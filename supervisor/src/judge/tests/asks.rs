use super::*;

const LONG: Duration = Duration::from_secs(20);

fn inquiry(container: &str) -> Inquiry {
    Inquiry { container: container.to_owned(), ..Inquiry::default() }
}

fn asks() -> Arc<Asks> {
    Arc::new(Asks::new(LONG))
}

#[test]
fn without_a_listener_nobody_waits() {
    let asks = asks();
    assert_eq!(asks.ask_blocking(inquiry("c"), LONG, || true), Reply::Unattended);
    drop(asks.attend());
    assert_eq!(asks.ask_blocking(inquiry("c"), LONG, || true), Reply::Unattended);
}

#[test]
fn an_answer_lets_a_thread_go_and_is_announced() {
    let asks = asks();
    let mut attendance = asks.attend();
    let reply = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| asks.ask_blocking(inquiry("c"), LONG, || true));
        let Ok(Announcement::Asked(asked)) = attendance.announcements.blocking_recv() else {
            panic!("not announced")
        };
        assert_eq!(asks.list()[0].id, asked.id);
        assert!(asks.answer(asked.id, Reply::Allowed { uid: 7 }).is_some());
        waiting.join().unwrap()
    });
    assert_eq!(reply, Reply::Allowed { uid: 7 });
    assert!(asks.list().is_empty() && asks.answer(1, Reply::TimedOut).is_none());
    let over = attendance.announcements.blocking_recv();
    assert!(matches!(over, Ok(Announcement::Over { outcome: "allowed", .. })), "{over:?}");
}

#[test]
fn patience_and_callers_end() {
    let asks = asks();
    let _attendance = asks.attend();
    let short = Duration::from_millis(60);
    assert_eq!(asks.ask_blocking(inquiry("c"), short, || true), Reply::TimedOut);
    assert_eq!(asks.ask_blocking(inquiry("c"), LONG, || false), Reply::Withdrawn);
    assert!(asks.list().is_empty());
}

#[test]
fn one_container_does_not_take_the_table() {
    let asks = asks();
    let _attendance = asks.attend();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..MAX_WAITING_OF_ONE {
            let asks = asks.clone();
            tasks.spawn(async move { asks.ask(inquiry("greedy"), LONG).await });
        }
        while asks.list().len() < MAX_WAITING_OF_ONE {
            tokio::task::yield_now().await;
        }
        assert_eq!(asks.ask(inquiry("greedy"), LONG).await, Reply::Crowded);
        let short = Duration::from_millis(20);
        assert_eq!(asks.ask(inquiry("other"), short).await, Reply::TimedOut);
        // Who goes away leaves its place.
        tasks.shutdown().await;
        assert!(asks.list().is_empty());
    });
}
