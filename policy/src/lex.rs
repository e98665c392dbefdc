//! Text of a condition to tokens.

mod literal;

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
    /// Its size; the sign stands before it.
    Int(u64),
    Uint(u64),
    Double(f64),
    Str(String),
    Bytes(Vec<u8>),
    Symbol(&'static str),
    End,
}

/// Longest first, so that `<=` is never read as `<` and `=`.
const SYMBOLS: [&str; 21] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "?", ":", "(", ")", "[", "]", "{", "}", ",",
    ".", "-", "+",
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
            Some('$') => self.definition(start)?,
            Some(_) if literal::opens_text(self.rest()) => self.text(start)?,
            Some(_) if literal::opens_number(self.rest()) => self.number(start)?,
            Some(c) if is_name_start(c) => TokenKind::Name(self.take_while(is_name_char)),
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
            '*' | '%' => problem.hint("conditions compare; they do not calculate"),
            _ => problem,
        })
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
        use TokenKind::{Bytes, Definition, Double, End, Int, Name, Str, Symbol, Uint};
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
        assert_eq!(
            kinds("{7u, 0xFu, 1.5, .5, 2e3, 1.5E-1, b'a', br'\\x', a.b + 1}"),
            vec![
                Symbol("{"),
                Uint(7),
                Symbol(","),
                Uint(15),
                Symbol(","),
                Double(1.5),
                Symbol(","),
                Double(0.5),
                Symbol(","),
                Double(2000.0),
                Symbol(","),
                Double(0.15),
                Symbol(","),
                Bytes(b"a".into()),
                Symbol(","),
                Bytes(b"\\x".into()),
                Symbol(","),
                Name("a".into()),
                Symbol("."),
                Name("b".into()),
                Symbol("+"),
                Int(1),
                Symbol("}"),
                End
            ]
        );
    }

    #[test]
    fn decodes_escapes() {
        let text = r#"'\n\t\'\\\x41\u00e9\U0001F600\101'"#;
        assert_eq!(kinds(text)[0], TokenKind::Str("\n\t'\\A\u{e9}\u{1F600}A".into()));
        let text = r#"'\a\b\f\r\v\?\"\`\X41'"#;
        assert_eq!(kinds(text)[0], TokenKind::Str("\u{7}\u{8}\u{c}\r\u{b}?\"`A".into()));
        // In bytes a number is a byte, in a string it is a character.
        assert_eq!(kinds(r"b'\xff\377é'")[0], TokenKind::Bytes(b"\xff\xff\xc3\xa9".into()));
        assert_eq!(kinds(r"'\xff\377'")[0], TokenKind::Str("\u{ff}\u{ff}".into()));
    }

    #[test]
    fn three_quotes_hold_lines_and_quotes() {
        for text in ["'''a\n'b\"'''", "\"\"\"a\n'b\\\"\"\"\"", "r'''a\n'b\"'''"] {
            assert_eq!(kinds(text)[0], TokenKind::Str("a\n'b\"".into()), "{text}");
        }
        assert_eq!(kinds("''")[0], TokenKind::Str(String::new()));
        assert_eq!(kinds("''''''")[0], TokenKind::Str(String::new()));
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
            ("'a\nb'", "a string ends on the line on which it begins"),
            ("b'\\u00e9'", "this escape sequence does not exist"),
            ("99999999999999999999", "`99999999999999999999` is not a number that fits 64 bits"),
            ("1e999", "`1e999` is not a number that fits 64 bits"),
            ("1x", "`1x` is not a number that fits 64 bits"),
            ("0x", "`0x` is not a number that fits 64 bits"),
            ("1.5u", "`1.5u` is not a number that fits 64 bits"),
            ("a * b", "`*` means nothing here"),
            ("a // b", "`/` means nothing here"),
            ("é", "`é` means nothing here"),
        ] {
            assert_eq!(lex(text).unwrap_err().message, message, "{text}");
        }
    }
}
