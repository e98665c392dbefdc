//! Tokens to a syntax tree with places.

use crate::error::{Problem, Span};
use crate::lex::{Token, TokenKind, lex};

/// How deep one condition may nest. Every later pass recurses over the tree, so this bounds their
/// stack as well.
pub(crate) const MAX_DEPTH: usize = 64;

/// Words that CEL keeps for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// One expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expr {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    depth: usize,
}

/// What an expression is. Chains of `&&` and `||` are one node each, so that a rule with a thousand
/// alternatives is wide and not deep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Str(String),
    Bytes(Vec<u8>),
    List(Vec<Expr>),
    Map(Vec<[Expr; 2]>),
    Name(String),
    Definition(String),
    Field(Box<Expr>, Name),
    Index(Box<[Expr; 2]>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// A chain of `+`.
    Join(Vec<Expr>),
    Binary(Operator, Box<[Expr; 2]>),
    Choice(Box<[Expr; 3]>),
    Call(Option<Box<Expr>>, Name, Vec<Expr>),
}

/// A name with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
}

/// Reads one whole condition.
pub(crate) fn parse(text: &str) -> Result<Expr, Problem> {
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0 };
    if parser.kind() == &TokenKind::End {
        return Err(Problem::new(Span::new(0, text.len()), "the condition is empty"));
    }
    let expr = parser.expr()?;
    match parser.kind() {
        TokenKind::End => Ok(expr),
        _ => Err(parser.unexpected("the end of the condition or an operator")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn kind(&self) -> &TokenKind {
        self.tokens.get(self.at).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map(|token| token.span).unwrap_or_default()
    }

    fn advance(&mut self) -> Span {
        let span = self.span();
        self.at += 1;
        span
    }

    fn eat(&mut self, symbol: &str) -> Option<Span> {
        matches!(self.kind(), TokenKind::Symbol(found) if *found == symbol).then(|| self.advance())
    }

    fn demand(&mut self, symbol: &str) -> Result<Span, Problem> {
        self.eat(symbol).ok_or_else(|| self.unexpected(&format!("`{symbol}`")))
    }

    fn unexpected(&self, wanted: &str) -> Problem {
        let found = match self.kind() {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Definition(name) => format!("`${name}`"),
            TokenKind::Int(value) => format!("`{value}`"),
            TokenKind::Uint(value) => format!("`{value}u`"),
            TokenKind::Double(value) => format!("`{value}`"),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Bytes(_) => "bytes".to_owned(),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end of the condition".to_owned(),
        };
        let problem = Problem::new(self.span(), format!("expected {wanted}, found {found}"));
        match self.kind() {
            TokenKind::Name(name) if name == "and" => problem.hint("`and` is written `&&`"),
            TokenKind::Name(name) if name == "or" => problem.hint("`or` is written `||`"),
            TokenKind::Name(name) if name == "not" => problem.hint("`not` is written `!`"),
            TokenKind::Symbol("-") => problem.hint("conditions compare; they do not calculate"),
            _ => problem,
        }
    }

    fn expr(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(too_deep(self.span()));
        }
        let first = self.alternatives()?;
        let result = if self.eat("?").is_some() {
            let then = self.alternatives()?;
            self.demand(":")?;
            let other = self.expr()?;
            let span = first.span.to(other.span);
            node(span, Kind::Choice(Box::new([first, then, other])))
        } else {
            Ok(first)
        };
        self.depth -= 1;
        result
    }

    fn alternatives(&mut self) -> Result<Expr, Problem> {
        self.chain("||", Self::conjunction, Kind::Or)
    }

    fn conjunction(&mut self) -> Result<Expr, Problem> {
        self.chain("&&", Self::relation, Kind::And)
    }

    fn chain(
        &mut self,
        symbol: &str,
        operand: fn(&mut Self) -> Result<Expr, Problem>,
        kind: fn(Vec<Expr>) -> Kind,
    ) -> Result<Expr, Problem> {
        let first = operand(self)?;
        if self.eat(symbol).is_none() {
            return Ok(first);
        }
        let start = first.span;
        let mut operands = vec![first, operand(self)?];
        while self.eat(symbol).is_some() {
            operands.push(operand(self)?);
        }
        let end = operands.last().map_or(start, |last| last.span);
        node(start.to(end), kind(operands))
    }

    fn relation(&mut self) -> Result<Expr, Problem> {
        let mut left = self.sum()?;
        while let Some(operator) = self.operator() {
            self.advance();
            let right = self.sum()?;
            let span = left.span.to(right.span);
            left = node(span, Kind::Binary(operator, Box::new([left, right])))?;
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr, Problem> {
        self.chain("+", Self::unary, Kind::Join)
    }

    fn operator(&self) -> Option<Operator> {
        match self.kind() {
            TokenKind::Symbol("==") => Some(Operator::Eq),
            TokenKind::Symbol("!=") => Some(Operator::Ne),
            TokenKind::Symbol("<") => Some(Operator::Lt),
            TokenKind::Symbol("<=") => Some(Operator::Le),
            TokenKind::Symbol(">") => Some(Operator::Gt),
            TokenKind::Symbol(">=") => Some(Operator::Ge),
            TokenKind::Name(name) if name == "in" => Some(Operator::In),
            _ => None,
        }
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let mut bangs = Vec::new();
        while let Some(span) = self.eat("!") {
            bangs.push(span);
        }
        let mut expr = match self.eat("-") {
            Some(minus) => self.negative(minus)?,
            None => self.postfix()?,
        };
        for bang in bangs.into_iter().rev() {
            expr = node(bang.to(expr.span), Kind::Not(Box::new(expr)))?;
        }
        Ok(expr)
    }

    fn negative(&mut self, minus: Span) -> Result<Expr, Problem> {
        let kind = match *self.kind() {
            TokenKind::Int(size) => match 0_i64.checked_sub_unsigned(size) {
                Some(value) => Kind::Int(value),
                None => return Err(too_large(minus.to(self.span()), &format!("-{size}"))),
            },
            TokenKind::Double(value) => Kind::Double(-value),
            _ => return Err(self.unexpected("a number after `-`")),
        };
        node(minus.to(self.advance()), kind)
    }

    fn postfix(&mut self) -> Result<Expr, Problem> {
        let mut expr = self.primary()?;
        loop {
            if self.eat(".").is_some() {
                let start = expr.span;
                let name = self.name()?;
                let kind = if self.eat("(").is_some() {
                    Kind::Call(Some(Box::new(expr)), name, self.list(")")?)
                } else {
                    Kind::Field(Box::new(expr), name)
                };
                expr = node(start.to(self.previous()), kind)?;
            } else if self.eat("[").is_some() {
                let index = self.expr()?;
                let span = expr.span.to(self.demand("]")?);
                expr = node(span, Kind::Index(Box::new([expr, index])))?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn previous(&self) -> Span {
        let index = self.at.saturating_sub(1);
        self.tokens.get(index).map(|token| token.span).unwrap_or_default()
    }

    fn name(&mut self) -> Result<Name, Problem> {
        match self.kind() {
            TokenKind::Name(name) => {
                let text = name.clone();
                Ok(Name { text, span: self.advance() })
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        let span = self.span();
        match self.kind().clone() {
            TokenKind::Int(size) => match i64::try_from(size) {
                Ok(value) => self.leaf(Kind::Int(value)),
                Err(_) => Err(too_large(span, &size.to_string())),
            },
            TokenKind::Uint(value) => self.leaf(Kind::Uint(value)),
            TokenKind::Double(value) => self.leaf(Kind::Double(value)),
            TokenKind::Str(value) => self.leaf(Kind::Str(value)),
            TokenKind::Bytes(value) => self.leaf(Kind::Bytes(value)),
            TokenKind::Definition(name) => self.leaf(Kind::Definition(name)),
            TokenKind::Name(name) => self.word(name),
            TokenKind::Symbol("(") => {
                self.advance();
                let mut inner = self.expr()?;
                inner.span = span.to(self.demand(")")?);
                Ok(inner)
            }
            TokenKind::Symbol("[") => {
                self.advance();
                let items = self.list("]")?;
                node(span.to(self.previous()), Kind::List(items))
            }
            TokenKind::Symbol("{") => {
                self.advance();
                let entries = self.items("}", Self::entry)?;
                node(span.to(self.previous()), Kind::Map(entries))
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    fn leaf(&mut self, kind: Kind) -> Result<Expr, Problem> {
        node(self.advance(), kind)
    }

    fn word(&mut self, text: String) -> Result<Expr, Problem> {
        match text.as_str() {
            "true" => return self.leaf(Kind::Bool(true)),
            "false" => return self.leaf(Kind::Bool(false)),
            "null" => return self.leaf(Kind::Null),
            "in" | "and" | "or" | "not" => return Err(self.unexpected("a value")),
            word if RESERVED.contains(&word) => {
                let message = format!("`{word}` is a reserved word of CEL");
                return Err(Problem::new(self.span(), message));
            }
            _ => {}
        }
        let span = self.advance();
        if self.eat("(").is_none() {
            return node(span, Kind::Name(text));
        }
        let arguments = self.list(")")?;
        node(span.to(self.previous()), Kind::Call(None, Name { text, span }, arguments))
    }

    fn list(&mut self, close: &str) -> Result<Vec<Expr>, Problem> {
        self.items(close, Self::expr)
    }

    fn entry(&mut self) -> Result<[Expr; 2], Problem> {
        let key = self.expr()?;
        self.demand(":")?;
        Ok([key, self.expr()?])
    }

    fn items<T>(
        &mut self,
        close: &str,
        item: fn(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let mut items = Vec::new();
        while self.eat(close).is_none() {
            if !items.is_empty() {
                self.demand(",")?;
                if self.eat(close).is_some() {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }
}

fn too_large(span: Span, number: &str) -> Problem {
    Problem::new(span, format!("`{number}` is not a number that fits 64 bits"))
}

fn too_deep(span: Span) -> Problem {
    Problem::new(span, format!("the condition nests deeper than {MAX_DEPTH} levels"))
        .hint("name parts of it under `definitions`")
}

/// Builds a node one deeper than its deepest child. Chains such as `a.b.c` are read in a loop, so
/// the parser's own recursion does not bound them; this does.
fn node(span: Span, kind: Kind) -> Result<Expr, Problem> {
    let below = match &kind {
        Kind::Null
        | Kind::Bool(_)
        | Kind::Int(_)
        | Kind::Uint(_)
        | Kind::Double(_)
        | Kind::Str(_)
        | Kind::Bytes(_)
        | Kind::Name(_)
        | Kind::Definition(_) => 0,
        Kind::Field(inner, _) | Kind::Not(inner) => inner.depth,
        Kind::List(items) | Kind::And(items) | Kind::Or(items) | Kind::Join(items) => {
            deepest(items)
        }
        Kind::Map(entries) => entries.iter().map(|entry| deepest(entry)).max().unwrap_or(0),
        Kind::Index(pair) | Kind::Binary(_, pair) => deepest(pair.as_slice()),
        Kind::Choice(three) => deepest(three.as_slice()),
        Kind::Call(receiver, _, arguments) => {
            deepest(arguments).max(receiver.as_ref().map_or(0, |inner| inner.depth))
        }
    };
    if below >= MAX_DEPTH {
        return Err(too_deep(span));
    }
    Ok(Expr { kind, span, depth: below + 1 })
}

fn deepest(items: &[Expr]) -> usize {
    items.iter().map(|item| item.depth).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "tests/parse.rs"]
mod tests;
