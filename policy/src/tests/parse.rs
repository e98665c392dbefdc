use proptest::prelude::*;

use super::*;

fn show(expr: &Expr) -> String {
    let all = |items: &[Expr]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match &expr.kind {
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::Null => "null".to_owned(),
        Kind::Uint(value) => format!("{value}u"),
        Kind::Double(value) => format!("{value:?}"),
        Kind::Str(value) => format!("{value:?}"),
        Kind::Bytes(value) => format!("b{:?}", String::from_utf8_lossy(value)),
        Kind::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|entry| all(entry)).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Kind::Join(items) => format!("(+ {})", all(items)),
        Kind::List(items) => format!("[{}]", all(items)),
        Kind::Name(name) => name.clone(),
        Kind::Definition(name) => format!("${name}"),
        Kind::Field(base, name) => format!("(. {} {})", show(base), name.text),
        Kind::Index(pair) => format!("(index {})", all(pair.as_slice())),
        Kind::Not(inner) => format!("(! {})", show(inner)),
        Kind::And(items) => format!("(&& {})", all(items)),
        Kind::Or(items) => format!("(|| {})", all(items)),
        Kind::Binary(operator, pair) => format!("({operator:?} {})", all(pair.as_slice())),
        Kind::Choice(three) => format!("(? {})", all(three.as_slice())),
        Kind::Call(receiver, name, arguments) => {
            let receiver = receiver.as_ref().map(|inner| show(inner) + " ").unwrap_or_default();
            format!("({} {receiver}{})", name.text, all(arguments))
        }
    }
}

#[test]
fn precedence_is_that_of_cel() {
    for (text, tree) in [
        ("a || b && c", "(|| a (&& b c))"),
        ("!a && b", "(&& (! a) b)"),
        ("!a.b == c", "(Eq (! (. a b)) c)"),
        ("a == b || c != d", "(|| (Eq a b) (Ne c d))"),
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("x in ['a', 'b',]", "(In x [\"a\" \"b\"])"),
        ("(a || b) && c", "(&& (|| a b) c)"),
        ("m['k'].size() >= -3", "(Ge (size (index m \"k\") ) -3)"),
        ("l.exists(x, x == 'a')", "(exists l x (Eq x \"a\"))"),
        ("under(target, '/w') && $d", "(&& (under target \"/w\") $d)"),
        ("a && b && c && d", "(&& a b c d)"),
        ("a + b + c == d", "(Eq (+ a b c) d)"),
        ("a in b + [c]", "(In a (+ b [c]))"),
        ("{'a': 1, 'b': x ? y : z,}['a']", "(index {\"a\" 1, \"b\" (? x y z)} \"a\")"),
        ("[1u, 1.5, -2.5, b'x', null]", "[1u 1.5 -2.5 b\"x\" null]"),
        ("-9223372036854775808", "-9223372036854775808"),
    ] {
        assert_eq!(show(&parse(text).unwrap()), tree, "{text}");
    }
}

#[test]
fn mistakes_are_named_where_they_stand() {
    for (text, start, message) in [
        ("", 0, "the condition is empty"),
        ("a ==", 4, "expected a value, found the end of the condition"),
        ("a and b", 2, "expected the end of the condition or an operator, found `and`"),
        ("(a", 2, "expected `)`, found the end of the condition"),
        ("a b", 2, "expected the end of the condition or an operator, found `b`"),
        ("f(a b)", 4, "expected `,`, found `b`"),
        ("a.'b'", 2, "expected a name, found a string"),
        ("x - 1", 2, "expected the end of the condition or an operator, found `-`"),
        ("9223372036854775808", 0, "`9223372036854775808` is not a number that fits 64 bits"),
        ("-9223372036854775809", 0, "`-9223372036854775809` is not a number that fits 64 bits"),
        ("{'a' 1}", 5, "expected `:`, found `1`"),
        ("-1u", 1, "expected a number after `-`, found `1u`"),
        ("for == 1", 0, "`for` is a reserved word of CEL"),
        ("-'a'", 1, "expected a number after `-`, found a string"),
    ] {
        let problem = parse(text).unwrap_err();
        assert_eq!((problem.span.start, problem.message.as_str()), (start, message), "{text}");
    }
}

#[test]
fn depth_is_bounded_at_64_in_every_direction() {
    let too_deep = "the condition nests deeper than 64 levels";
    let deep = |open: &str, inner: &str, close: &str, count: usize| {
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    assert!(parse(&deep("(", "a", ")", 63)).is_ok());
    assert!(parse(&deep("!", "a", "", 63)).is_ok());
    for text in [
        deep("(", "a", ")", 64),
        deep("!", "a", "", 64),
        deep("", "a", ".b", 64),
        deep("", "a", "[0]", 64),
        deep("[", "a", "]", 64),
        deep("{1: ", "a", "}", 64),
        deep("a ? b : ", "c", "", 64),
        deep("f(", "a", ")", 64),
        deep("", "a", " == a", 64),
        deep("(", "a", ")", 100_000),
        deep("!", "a", "", 100_000),
        deep("", "a", ".b", 100_000),
    ] {
        assert_eq!(parse(&text).unwrap_err().message, too_deep);
    }
}

#[test]
fn a_long_chain_is_wide_and_not_deep() {
    assert!(parse(&vec!["a"; 20_000].join(" || ")).is_ok());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn text_made_of_tokens_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "a", ".", "(", ")", "[", "]", "'s'", "1", "-", "!", "&&", "||", "?", ":", "==",
                "in", ",", "$d", "{", "}", "+", "1u", "1.5", "b'x'", "null", "'''", "exists", "r'", "\\", "0x", "\u{e9}",
            ]),
            0..40,
        )
    ) {
        let _ = parse(&words.join(" "));
        let _ = parse(&words.concat());
    }
}
