//! Text of a condition to tokens.

use crate::error::{Problem, Span};

/// One token with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Name(String),
    Definition(String),
    Int(i64),
    Str(String),
    Symbol(&'static str),
    End,
}

/// Longest first, so that `<=` is never read as `<` and `=`.
const SYMBOLS: [&str; 18] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "?", ":", "(", ")", "[", "]", ",", ".", "-",
];

/// The tokens of a condition, closed by [`TokenKind::End`].
pub(crate) fn lex(text: &str) -> Result<Vec<Token>, Problem> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        let ended = token.kind == TokenKind::End;
        tokens.push(token);
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let taken: String = self.rest().chars().take_while(|c| wanted(*c)).collect();
        self.at += taken.len();
        taken
    }

    fn next(&mut self) -> Result<Token, Problem> {
        self.take_while(char::is_whitespace);
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('\'' | '"') => TokenKind::Str(self.string(start, false)?),
            Some('r' | 'R') if self.rest()[1..].starts_with(['\'', '"']) => {
                self.bump();
                TokenKind::Str(self.string(start, true)?)
            }
            Some('$') => self.definition(start)?,
            Some(c) if is_name_start(c) => TokenKind::Name(self.take_while(is_name_char)),
            Some(c) if c.is_ascii_digit() => TokenKind::Int(self.int(start)?),
            Some(c) => TokenKind::Symbol(self.symbol(start, c)?),
        };
        Ok(Token { kind, span: Span::new(start, self.at) })
    }

    fn definition(&mut self, start: usize) -> Result<TokenKind, Problem> {
        self.bump();
        let name = self.take_while(is_name_char);
        if name.is_empty() {
            let span = Span::new(start, self.at);
            return Err(Problem::new(span, "`$` must be followed by the name of a definition"));
        }
        Ok(TokenKind::Definition(name))
    }

    fn int(&mut self, start: usize) -> Result<i64, Problem> {
        let word = self.take_while(|c| is_name_char(c) || c == '.');
        let span = Span::new(start, self.at);
        let parsed = match word.strip_prefix("0x") {
            Some(digits) if !digits.starts_with(['+', '-']) => i64::from_str_radix(digits, 16),
            _ => word.parse(),
        };
        parsed.map_err(|_| {
            Problem::new(span, format!("`{word}` is not a whole number that fits 64 bits"))
        })
    }

    fn symbol(&mut self, start: usize, c: char) -> Result<&'static str, Problem> {
        let found = SYMBOLS.iter().copied().find(|symbol| self.rest().starts_with(*symbol));
        if let Some(symbol) = found {
            self.at += symbol.len();
            return Ok(symbol);
        }
        let problem = Problem::new(
            Span::new(start, start + c.len_utf8()),
            format!("`{}` means nothing here", c.escape_debug()),
        );
        Err(match c {
            '=' => problem.hint("equality is written `==`"),
            '&' => problem.hint("`and` is written `&&`"),
            '|' => problem.hint("`or` is written `||`"),
            '/' => problem.hint("paths are written in quotes; conditions have no comments"),
            '{' => problem.hint("maps cannot be written in a condition"),
            _ => problem,
        })
    }

    fn string(&mut self, start: usize, raw: bool) -> Result<String, Problem> {
        let quote = self.bump();
        let mut value = String::new();
        loop {
            let escape_start = self.at;
            match self.bump() {
                None => {
                    let message = "this string has no closing quote";
                    return Err(Problem::new(Span::new(start, self.at), message));
                }
                c if c == quote => return Ok(value),
                Some('\\') if !raw => value.push(self.escape(escape_start)?),
                Some(c) => value.push(c),
            }
        }
    }

    fn escape(&mut self, start: usize) -> Result<char, Problem> {
        let decoded = match self.bump() {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('a') => Some('\u{7}'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('v') => Some('\u{b}'),
            Some(c @ ('\\' | '\'' | '"' | '`' | '?')) => Some(c),
            Some('x' | 'X') => self.code_point(2, 16),
            Some('u') => self.code_point(4, 16),
            Some('U') => self.code_point(8, 16),
            Some('0'..='3') => {
                self.at -= 1;
                self.code_point(3, 8)
            }
            _ => None,
        };
        decoded.ok_or_else(|| {
            Problem::new(Span::new(start, self.at), "this escape sequence does not exist")
                .hint("write `\\\\` for a backslash, or a raw string r'…'")
        })
    }

    fn code_point(&mut self, digits: usize, radix: u32) -> Option<char> {
        let mut code = 0u32;
        for _ in 0..digits {
            code = code.checked_mul(radix)?.checked_add(self.bump()?.to_digit(radix)?)?;
        }
        char::from_u32(code)
    }
}

/// Whether a text could be the name of a definition.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(is_name_start) && text.chars().all(is_name_char)
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        lex(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn reads_every_kind_of_token() {
        use TokenKind::{Definition, End, Int, Name, Str, Symbol};
        assert_eq!(
            kinds("a.b<=0x10 && $ws||r'\\d' != \"x\""),
            vec![
                Name("a".into()),
                Symbol("."),
                Name("b".into()),
                Symbol("<="),
                Int(16),
                Symbol("&&"),
                Definition("ws".into()),
                Symbol("||"),
                Str("\\d".into()),
                Symbol("!="),
                Str("x".into()),
                End
            ]
        );
    }

    #[test]
    fn decodes_escapes() {
        let text = r#"'\n\t\'\\\x41\u00e9\U0001F600\101'"#;
        assert_eq!(kinds(text)[0], TokenKind::Str("\n\t'\\A\u{e9}\u{1F600}A".into()));
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, message) in [
            ("'abc", "this string has no closing quote"),
            ("a = b", "`=` means nothing here"),
            ("a & b", "`&` means nothing here"),
            ("'\\q'", "this escape sequence does not exist"),
            ("'\\ud800'", "this escape sequence does not exist"),
            ("$ a", "`$` must be followed by the name of a definition"),
            (
                "99999999999999999999",
                "`99999999999999999999` is not a whole number that fits 64 bits",
            ),
            ("1.5", "`1.5` is not a whole number that fits 64 bits"),
            ("a // b", "`/` means nothing here"),
            ("é", "`é` means nothing here"),
        ] {
            assert_eq!(lex(text).unwrap_err().message, message, "{text}");
        }
    }
}
