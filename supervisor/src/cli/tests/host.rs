use super::*;

/// Answers in pieces of this many bytes.
fn received(text: &str, piece: usize) -> Result<Answer, HostError> {
    let mut rest = text.as_bytes();
    receive(|buffer| {
        let length = piece.min(rest.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        rest = &rest[length..];
        Ok(length)
    })
}

#[test]
fn an_answer_is_put_together_from_any_pieces() {
    let text = "HTTP/1.1 200 OK\r\nContent-Type: x\r\ncontent-length: 27\r\n\r\n{\"success\":true,\"data\":[1]}";
    for piece in [1, 2, 7, 1000] {
        let answer = received(text, piece).unwrap();
        assert_eq!(answer.data().unwrap().to_string(), "[1]");
    }
}

#[test]
fn anything_that_is_not_exact_is_refused() {
    let cases = [
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", "status"),
        ("HTTP/1.1 2x0 OK\r\nContent-Length: 2\r\n\r\n{}", "status"),
        ("HTTP/1.1 200 OK\r\n\r\n{}", "no length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "broken length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\n{}", "broken length"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}", "too long"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}", "too early"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", "more than"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno", "no JSON"),
        ("", "too early"),
    ];
    for (text, why) in cases {
        let error = received(text, 1000).unwrap_err().to_string();
        assert!(error.contains(why), "{text:?}: {error}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(1 << 20));
    assert!(received(&endless, 4096).unwrap_err().to_string().contains("no end"));
}

#[test]
fn without_a_daemon_the_next_command_is_said() {
    let error = ask(Path::new("/no/such/host.sock"), "GET", "/v1/status").unwrap_err();
    assert!(error.to_string().contains("no outcalld serves /no/such/host.sock"), "{error}");
    assert!(error.to_string().contains("start one with: outcalld"), "{error}");
}
