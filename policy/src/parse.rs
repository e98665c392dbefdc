//! Tokens to a syntax tree with places.

use crate::error::{Problem, Span};
use crate::lex::{Token, TokenKind, lex};

/// How deep one condition may nest. Every later pass recurses over the tree, so this bounds their
/// stack as well.
pub(crate) const MAX_DEPTH: usize = 64;

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
    Bool(bool),
    Int(i64),
    Str(String),
    List(Vec<Expr>),
    Name(String),
    Definition(String),
    Field(Box<Expr>, Name),
    Index(Box<[Expr; 2]>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
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
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end of the condition".to_owned(),
        };
        let problem = Problem::new(self.span(), format!("expected {wanted}, found {found}"));
        match self.kind() {
            TokenKind::Name(name) if name == "and" => problem.hint("`and` is written `&&`"),
            TokenKind::Name(name) if name == "or" => problem.hint("`or` is written `||`"),
            TokenKind::Name(name) if name == "not" => problem.hint("`not` is written `!`"),
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
        let mut left = self.unary()?;
        while let Some(operator) = self.operator() {
            self.advance();
            let right = self.unary()?;
            let span = left.span.to(right.span);
            left = node(span, Kind::Binary(operator, Box::new([left, right])))?;
        }
        Ok(left)
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
        match *self.kind() {
            TokenKind::Int(value) => {
                node(minus.to(self.advance()), Kind::Int(value.wrapping_neg()))
            }
            _ => Err(self.unexpected("a number after `-`")),
        }
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
            TokenKind::Int(value) => self.leaf(Kind::Int(value)),
            TokenKind::Str(value) => self.leaf(Kind::Str(value)),
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
            "in" | "and" | "or" | "not" => return Err(self.unexpected("a value")),
            "null" => {
                let problem = Problem::new(self.span(), "no fact is ever null");
                return Err(problem.hint("an absent fact is '' or 0; `has(x)` tells"));
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
        let mut items = Vec::new();
        while self.eat(close).is_none() {
            if !items.is_empty() {
                self.demand(",")?;
                if self.eat(close).is_some() {
                    break;
                }
            }
            items.push(self.expr()?);
        }
        Ok(items)
    }
}

fn too_deep(span: Span) -> Problem {
    Problem::new(span, format!("the condition nests deeper than {MAX_DEPTH} levels"))
        .hint("name parts of it under `definitions`")
}

/// Builds a node one deeper than its deepest child. Chains such as `a.b.c` are read in a loop, so
/// the parser's own recursion does not bound them; this does.
fn node(span: Span, kind: Kind) -> Result<Expr, Problem> {
    let below = match &kind {
        Kind::Bool(_) | Kind::Int(_) | Kind::Str(_) | Kind::Name(_) | Kind::Definition(_) => 0,
        Kind::Field(inner, _) | Kind::Not(inner) => inner.depth,
        Kind::List(items) | Kind::And(items) | Kind::Or(items) => deepest(items),
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
