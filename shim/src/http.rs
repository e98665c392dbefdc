//! HTTP/1.1 as far as the agent socket needs it: one request out, one strict response in.

/// Longest status line and headers together.
const MAX_HEAD: usize = 16 * 1024;
/// Longest body.
const MAX_BODY: usize = 1024 * 1024;

/// A complete response.
#[derive(Debug, PartialEq)]
pub(crate) struct Response {
    /// The status code, 200 to 599.
    pub(crate) status: u16,
    /// The body, exactly Content-Length bytes.
    pub(crate) body: Vec<u8>,
}

/// The bytes of a request. `token` must hold visible ASCII only; the client checks it on arrival.
pub(crate) fn request(method: &str, path: &str, token: Option<&str>, body: &str) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: outcalld\r\n");
    if let Some(token) = token {
        head.push_str(&format!("Authorization: Bearer {token}\r\n"));
    }
    if !body.is_empty() {
        head.push_str(&format!(
            "Content-Type: application/json\r\nContent-Length: {}\r\n",
            body.len()
        ));
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// Reads the response that `bytes` begin with: `Ok(None)` while it is incomplete. Bytes after it are
/// an error, because only one request is ever outstanding.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Response>, &'static str> {
    let window = &bytes[..bytes.len().min(MAX_HEAD)];
    let Some(end) = window.windows(4).position(|w| w == b"\r\n\r\n") else {
        return if window.len() == MAX_HEAD { Err("headers over 16 KiB") } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "headers that are not text")?;
    let mut lines = head.split("\r\n");
    let status = status(lines.next().unwrap_or_default())?;
    let length = content_length(lines)?;
    let body = &bytes[end + 4..];
    match body.len() {
        n if n < length => Ok(None),
        n if n > length => Err("bytes after the response"),
        _ => Ok(Some(Response { status, body: body.to_vec() })),
    }
}

fn status(line: &str) -> Result<u16, &'static str> {
    let code = line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.split_once(' '))
        .filter(|(code, reason)| code.len() == 3 && !reason.chars().any(char::is_control))
        .filter(|(code, _)| code.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|(code, _)| code.parse().ok())
        .ok_or("a malformed status line")?;
    match code {
        200..=599 if code != 204 && code != 304 => Ok(code),
        _ => Err("a status that cannot answer this request"),
    }
}

fn content_length<'a>(lines: impl Iterator<Item = &'a str>) -> Result<usize, &'static str> {
    let mut length = None;
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a malformed header")?;
        let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
        if name.is_empty() || !name.bytes().all(token) {
            return Err("a malformed header name");
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err("a malformed header value");
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err("a transfer encoding");
        }
        if name.eq_ignore_ascii_case("content-length") {
            let digits = value.trim_matches([' ', '\t']);
            if length.is_some() || digits.is_empty() || digits.len() > 7 {
                return Err("a malformed Content-Length");
            }
            if !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err("a malformed Content-Length");
            }
            length = digits.parse().ok();
        }
    }
    match length.ok_or("no Content-Length")? {
        length if length > MAX_BODY => Err("a body over 1 MiB"),
        length => Ok(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nContent-Length: 2\r\n\r\n{}";

    #[test]
    fn a_response_may_arrive_byte_by_byte() {
        for cut in 0..GOOD.len() {
            assert_eq!(parse(&GOOD.as_bytes()[..cut]), Ok(None), "{cut}");
        }
        let whole = parse(GOOD.as_bytes()).unwrap().unwrap();
        assert_eq!((whole.status, whole.body.as_slice()), (200, b"{}".as_slice()));
    }

    #[test]
    fn malformed_responses_are_errors() {
        for bad in [
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\n Content-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\nX: y\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nnonsense\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK",
            "\r\n\r\n",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn endless_headers_are_refused() {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        head.resize(MAX_HEAD - 1, b'a');
        assert_eq!(parse(&head), Ok(None));
        head.push(b'a');
        assert!(parse(&head).is_err());
    }

    #[test]
    fn requests_carry_the_token_and_the_length() {
        let text = String::from_utf8(request("POST", "/v1/x", Some("tok-1"), "{}")).unwrap();
        assert_eq!(
            text,
            "POST /v1/x HTTP/1.1\r\nHost: outcalld\r\nAuthorization: Bearer tok-1\r\n\
             Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        );
        assert!(request("GET", "/", None, "").ends_with(b"outcalld\r\n\r\n"));
    }
}
