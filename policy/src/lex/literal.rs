//! Numbers, strings and bytes as CEL writes them.

use super::{Lexer, TokenKind, is_name_char};
use crate::error::{Problem, Span};

/// Whether a string or bytes begin here: a quote, or one after `r`, `b` or `br`.
pub(super) fn opens_text(rest: &str) -> bool {
    let rest = rest.strip_prefix(['b', 'B']).unwrap_or(rest);
    let rest = rest.strip_prefix(['r', 'R']).unwrap_or(rest);
    rest.starts_with(['\'', '"'])
}

/// Whether a number begins here: a digit, or a point and a digit.
pub(super) fn opens_number(rest: &str) -> bool {
    rest.strip_prefix('.').unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

impl Lexer<'_> {
    pub(super) fn number(&mut self, start: usize) -> Result<TokenKind, Problem> {
        let length = number_length(self.rest());
        self.at += length;
        let word = &self.text[start..self.at];
        read_number(word).ok_or_else(|| {
            let message = format!("`{word}` is not a number that fits 64 bits");
            Problem::new(Span::new(start, self.at), message)
        })
    }

    /// A string or bytes, with their prefix.
    pub(super) fn text(&mut self, start: usize) -> Result<TokenKind, Problem> {
        let prefix = self.take_while(|c| "rRbB".contains(c));
        let raw = prefix.contains(['r', 'R']);
        if prefix.contains(['b', 'B']) {
            let mut bytes = Vec::new();
            self.quoted(start, |lexer, piece| {
                match piece {
                    Piece::Plain(c) => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
                    Piece::Escape if raw => bytes.push(b'\\'),
                    Piece::Escape => bytes.push(lexer.escaped_byte()?),
                }
                Some(())
            })?;
            return Ok(TokenKind::Bytes(bytes));
        }
        let mut value = String::new();
        self.quoted(start, |lexer, piece| {
            value.push(match piece {
                Piece::Plain(c) => c,
                Piece::Escape if raw => '\\',
                Piece::Escape => lexer.escaped_char()?,
            });
            Some(())
        })?;
        Ok(TokenKind::Str(value))
    }

    /// Reads from quote to quote. `take` has no answer for an escape that does not exist.
    fn quoted(
        &mut self,
        start: usize,
        mut take: impl FnMut(&mut Self, Piece) -> Option<()>,
    ) -> Result<(), Problem> {
        let quote = self.peek().unwrap_or_default();
        let three = quote.to_string().repeat(3);
        let end = if self.rest().starts_with(&three) { three } else { quote.to_string() };
        self.at += end.len();
        loop {
            if self.rest().starts_with(&end) {
                self.at += end.len();
                return Ok(());
            }
            let at = self.at;
            let piece = match self.bump() {
                None => {
                    let message = "this string has no closing quote";
                    return Err(Problem::new(Span::new(start, self.at), message));
                }
                Some('\n' | '\r') if end.len() == 1 => {
                    let message = "a string ends on the line on which it begins";
                    let problem = Problem::new(Span::new(start, at), message);
                    return Err(problem.hint("write `\\n`, or quote it with three quotes"));
                }
                Some('\\') => Piece::Escape,
                Some(c) => Piece::Plain(c),
            };
            take(self, piece).ok_or_else(|| {
                Problem::new(Span::new(at, self.at), "this escape sequence does not exist")
                    .hint("write `\\\\` for a backslash, or a raw string r'…'")
            })?;
        }
    }

    fn escaped_char(&mut self) -> Option<char> {
        match self.bump()? {
            'u' => char::from_u32(self.digits(4, 16)?),
            'U' => char::from_u32(self.digits(8, 16)?),
            c => char::from_u32(self.escaped_code(c)?),
        }
    }

    fn escaped_byte(&mut self) -> Option<u8> {
        let c = self.bump()?;
        u8::try_from(self.escaped_code(c)?).ok()
    }

    /// The escapes that strings and bytes share.
    fn escaped_code(&mut self, c: char) -> Option<u32> {
        Some(match c {
            'n' => 0x0a,
            't' => 0x09,
            'r' => 0x0d,
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'v' => 0x0b,
            '\\' | '\'' | '"' | '`' | '?' => u32::from(c),
            'x' | 'X' => self.digits(2, 16)?,
            '0'..='3' => {
                self.at -= 1;
                self.digits(3, 8)?
            }
            _ => return None,
        })
    }

    fn digits(&mut self, count: usize, radix: u32) -> Option<u32> {
        let mut code = 0u32;
        for _ in 0..count {
            code = code.checked_mul(radix)?.checked_add(self.bump()?.to_digit(radix)?)?;
        }
        Some(code)
    }
}

/// What stands next inside quotes.
enum Piece {
    Plain(char),
    /// A backslash; what follows it is not read yet.
    Escape,
}

/// How far a number goes: letters and digits, one point before a digit, a sign after `e`.
fn number_length(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hexadecimal = rest.starts_with("0x") || rest.starts_with("0X");
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let next_is_digit = bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let after_e = at > 0 && b"eE".contains(&bytes[at - 1]) && !hexadecimal;
        let belongs = is_name_char(char::from(*byte))
            || (*byte == b'.' && next_is_digit)
            || (b"+-".contains(byte) && after_e && next_is_digit);
        if !belongs {
            break;
        }
        at += 1;
    }
    at
}

fn read_number(word: &str) -> Option<TokenKind> {
    let (digits, unsigned) = match word.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (word, false),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let whole = match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        None => {
            let plain = digits.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
            let number = digits.parse().ok().filter(|number: &f64| number.is_finite());
            return number.filter(|_| plain && !unsigned).map(TokenKind::Double);
        }
    };
    whole.map(if unsigned { TokenKind::Uint } else { TokenKind::Int })
}
