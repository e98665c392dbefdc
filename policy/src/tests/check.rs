use super::*;
use crate::Facts;
use crate::eval::{Fault, holds};

fn compile(text: &str) -> Result<Bool, Problem> {
    match Checker::new(Vec::new()).condition(text) {
        Ok(condition) => Ok(condition),
        Err(Failure::Here(problem)) => Err(problem),
        Err(Failure::Reported) => panic!("{text}: reported elsewhere"),
    }
}

fn facts() -> Facts {
    let mut facts = Facts { target: "/w/src/a.rs".into(), ..Facts::default() };
    facts.session.workspace = "/w".into();
    facts.file.operation = "read".into();
    facts.network.port = 443;
    facts.network.ip = "10.1.2.3".into();
    facts.network.hostname = "api.example.com".into();
    facts.run.args = vec!["build".into(), "--release".into()];
    facts.metadata.insert("k".into(), "v".into());
    facts.metadata.insert("empty".into(), String::new());
    facts
}

fn eval(text: &str) -> Result<bool, Fault> {
    holds(&compile(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}")), &facts())
}

#[test]
fn conditions_that_hold() {
    for text in [
        "true",
        "!false",
        "target == '/w/src/a.rs' && target != 'x'",
        "'a' < 'b' && 'b' >= 'b' && 'c' > 'b' && 'a' <= 'b'",
        "network.port == 443 && network.port > 442 && network.port <= 443",
        "network.port in [80, 443]",
        "!(network.port in [80, 81])",
        "file.operation in ['read', 'write']",
        "'build' in run.args",
        "'k' in metadata && !('z' in metadata)",
        "metadata['k'] == 'v' && metadata.k == 'v' && metadata['z'] == ''",
        "container.labels['team'] == ''",
        "run.args[1] == '--release'",
        "run.args == ['build', '--release'] && run.args != ['build']",
        "run.args.exists(a, a.startsWith('--')) && !run.args.all(a, a.startsWith('--'))",
        "run.flags.all(f, false) && !run.flags.exists(f, true)",
        "[session.workspace, '/tmp'].exists(d, under(target, d))",
        "run.args.exists(a, run.args.exists(b, a != b && b == '--release'))",
        "target.startsWith('/w') && target.endsWith('.rs') && target.contains('src')",
        "target.matches('^/w/.*[.]rs$')",
        "target.size() == 11 && size(run.args) == 2 && metadata.size() == 2",
        "under(target, session.workspace) && !under(target, agent.name)",
        "cidr(network.ip, '10.0.0.0/8') && !cidr(network.ip, '10.0.0.0/16')",
        "!cidr(http.host, '0.0.0.0/0')",
        "glob(target, '/w/**/*.rs')",
        "host_matches(network.hostname, '*.example.com')",
        "has(target) && !has(agent.name) && has(network.port) && !has(process.pid)",
        "has(metadata.empty) && has(metadata['k']) && !has(metadata.z) && has(run.args)",
        "has(metadata) && !has(container.labels)",
        "network.port == 443 ? true : false",
        "(network.port == 1 ? 'a' : 'b') == 'b' && (true ? 1 : 2) == 1",
        "(network.port == 443) == true && (true != false)",
        "action_type == 'file_access' && source == 'kernel'",
        "target.after('/w/') == 'src/a.rs' && target.after('/x/') == ''",
        "process.pid == 0 && -1 < process.pid",
        "1u < 2u && 1.5 >= 1.5 && b'a' < b'b' && null == null && b'ab' == b'a' + b'b'",
        "2u in [1u, 2u] && !(1.5 in [2.5]) && [1.5, 2.5][1] == 2.5 && [1, 2] == [1] + [2]",
        "(network.port == 443 ? 1u : 2u) == 1u && [1u, 2u].exists(x, x == 2u)",
        "[80, 443].exists(p, p == network.port) && [1, 2][1] == 2 && [1, 2].all(n, n < 3)",
        "size(b'abc') == 3 && size([1, 2]) == 2 && size({'a': 1}) == 1 && size([]) == 0",
        "session.workspace + '/src' + '/' + 'a.rs' == target",
        "under(target, session.workspace + '/src') && target.startsWith('/' + 'w')",
        "'x' in run.args + ['x'] && (run.args + run.flags)[1] == '--release'",
        "run.args + [] == run.args && run.flags == [] && [] == [] && run.args != []",
        "(['a'] + run.args + ['b']).exists(x, x == 'b') && size(run.args + ['a']) == 3",
        "{'/w/src/a.rs': 'yes', 'b': 'no'}[target] == 'yes' && target in {'/w/src/a.rs': true}",
        "{'/w/src/a.rs': true}[target] && {443: 'https', 80: 'http'}[network.port] == 'https'",
        "{'a': 1}.a == 1 && has({'a': 1}.a) && !has({'a': 1}.b) && {'a': 1.5}['a'] > 1.0",
        "target.matches('^' + '/w') && glob(target, '/w' + '/**')",
        "target == '''/w/src/a.rs''' && '\\u002fw' == r'/w'",
    ] {
        assert_eq!(eval(text), Ok(true), "{text}");
    }
}

#[test]
fn a_deciding_side_wins_over_an_error() {
    let fails = "run.args[9] == 'x'";
    let missing = Fault::NoItem { index: 9, length: 2 };
    assert_eq!(eval(fails), Err(missing.clone()));
    assert_eq!(eval(&format!("{fails} || true")), Ok(true));
    assert_eq!(eval(&format!("{fails} && false")), Ok(false));
    assert_eq!(eval(&format!("{fails} || false")), Err(missing.clone()));
    assert_eq!(eval(&format!("!({fails})")), Err(missing.clone()));
    assert_eq!(eval(&format!("run.args.exists(a, {fails} || a == 'build')")), Ok(true));
    assert_eq!(eval(&format!("run.args.all(a, {fails})")), Err(missing));
    assert_eq!(eval("run.args[-1] == ''"), Err(Fault::NoItem { index: -1, length: 2 }));
    assert_eq!(eval("cidr(target, '10.0.0.0/8')"), Err(Fault::NotAnAddress));
    assert_eq!(eval("{'a': 1}[target] == 1"), Err(Fault::NoEntry));
    assert_eq!(eval("[1, 2][2] == 1"), Err(Fault::NoItem { index: 2, length: 2 }));
}

#[test]
fn a_list_with_an_item_that_fails_is_no_list() {
    let missing = || Err(Fault::NoItem { index: 9, length: 2 });
    assert_eq!(eval("target in [target, run.args[9]]"), missing());
    assert_eq!(eval("[target, run.args[9]].exists(x, x == target)"), missing());
    assert_eq!(eval("[target, run.args[9]][0] == target"), missing());
    assert_eq!(eval("[run.args[9]] == run.args"), missing());
}

#[test]
fn joined_texts_are_bounded_and_may_be_many() {
    let mut facts = Facts { target: "x".repeat(5_000), ..Facts::default() };
    facts.run.args = vec!["y".repeat(300); 100];
    let holds_for = |text: &str| holds(&compile(text).unwrap(), &facts);
    assert_eq!(holds_for("run.args.all(a, (a + target).endsWith(target))"), Ok(true));
    assert_eq!(holds_for("run.args.all(a, (a + 'z').startsWith(a))"), Ok(true));
    assert_eq!(
        holds_for("run.args.all(a, run.args.all(b, a + b + target == b + a + target))"),
        Err(Fault::TooLong)
    );
    facts.run.args = vec![String::new(); 20_000];
    let empty = holds(&compile("run.args.all(a, a + run.tool == '')").unwrap(), &facts);
    assert_eq!(empty, Ok(true));
}

#[test]
fn evaluation_is_bounded_in_steps() {
    let mut facts = Facts::default();
    facts.run.args = vec!["x".to_owned(); 10_000];
    let condition = compile("run.args.exists(a, run.args.exists(b, a != b)) || true").unwrap();
    assert_eq!(holds(&condition, &facts), Err(Fault::Exhausted));
}

/// Condition, offset of the mistake, message, hint.
const TYPE_ERRORS: &[(&str, usize, &str, &str)] = &[
    ("tagret == 'x'", 0, "there is no fact named `tagret`", "did you mean `target`?"),
    ("true && file.pth == 'x'", 13, "`file` has no field `pth`", "did you mean `path`?"),
    ("agent.zzz == 'x'", 6, "`agent` has no field `zzz`", "it has name"),
    ("file == 'x'", 0, "`file` is a group of facts, not a value", "such as `file.path`"),
    ("target == 1", 0, "a string cannot be compared with a number", ""),
    ("network.port == '1'", 0, "a number cannot be compared with a string", ""),
    ("true < false", 0, "a condition cannot be compared with a condition", ""),
    ("target", 0, "a condition must be true or false, this is a string", ""),
    ("true && target", 8, "expected true or false, found a string", ""),
    ("!network.port", 1, "expected true or false, found a number", ""),
    (
        "target in 'abc'",
        0,
        "a string cannot be in a string",
        "`text.contains('part')` looks inside a string",
    ),
    ("1 in ['a']", 0, "a number cannot be in a list of strings", ""),
    ("target in ['a', 1]", 16, "expected a string, found a number", ""),
    ("target in []", 0, "an empty list holds nothing to test", "write `false`"),
    (
        "target.startWith('a')",
        7,
        "there is no method named `startWith`",
        "did you mean `startsWith`?",
    ),
    ("undr(target, '/')", 0, "there is no function named `undr`", "did you mean `under`?"),
    ("target.under('/')", 7, "`under` is not asked of a value", "write `under(value, …)`"),
    ("startsWith(target)", 0, "`startsWith` is asked of a value", "write `value.startsWith(…)`"),
    ("under(target)", 0, "`under` takes 2 arguments, here are 1", ""),
    ("target.contains()", 7, "`contains` takes 1 argument, here are 0", ""),
    (
        "run.args.contains('a')",
        0,
        "`contains` looks inside a string, this is a list of strings",
        "membership is written `'x' in list`",
    ),
    ("target.matches('(')", 15, "wrong pattern: unclosed group", ""),
    ("target.matches(agent.name)", 15, "the pattern of `matches` must be a literal", ""),
    ("glob(target, '{a')", 13, "wrong pattern: a `{` is not closed", ""),
    (
        "cidr(network.ip, '10.0.0.1/8')",
        17,
        "wrong pattern: `10.0.0.1/8` has bits set after its prefix of 8",
        "",
    ),
    (
        "host_matches(target, '*')",
        21,
        "wrong pattern: a `*` may only stand first, as in `*.example.com`",
        "",
    ),
    (
        "action_type == 'file_acces'",
        15,
        "`action_type` is never 'file_acces'",
        "did you mean `file_access`?",
    ),
    ("source in ['kernel', 'apy']", 21, "`source` is never 'apy'", "did you mean `api`?"),
    ("target.x == 'a'", 7, "a string has no field `x`", ""),
    ("network.port[0] == 'a'", 0, "a number has no items to pick from", ""),
    ("metadata[0] == 'a'", 9, "expected a string, found a number", ""),
    (
        "run.args.exists('a', true)",
        16,
        "`exists` needs the name of a variable first",
        "as in `run.args.exists(a, a == '-f')`",
    ),
    ("run.args.exists(target, true)", 16, "`target` is a fact and cannot be a variable", ""),
    ("target.exists(a, true)", 0, "expected a list, found a string", ""),
    (
        "target == null",
        0,
        "a string cannot be compared with null",
        "no fact is ever null: an absent one is '' or 0; `has(x)` tells",
    ),
    (
        "network.port == 443u",
        0,
        "a number cannot be compared with an unsigned number",
        "numbers of facts are whole and signed: write `443`",
    ),
    (
        "network.port in [80u]",
        0,
        "a number cannot be in a list of unsigned numbers",
        "write numbers without `u`",
    ),
    ("1.5 == 1u", 0, "a decimal number cannot be compared with an unsigned number", ""),
    (
        "null < null",
        0,
        "null cannot be compared with null",
        "no fact is ever null: an absent one is '' or 0; `has(x)` tells",
    ),
    ("[1.5, 1u] == [1.5]", 6, "expected a decimal number, found an unsigned number", ""),
    ("true in [true]", 9, "a list cannot hold a condition", "it holds strings or numbers"),
    (
        "1 + 2 == 3",
        4,
        "a number cannot be joined with a number",
        "`+` joins strings and lists; conditions do not calculate",
    ),
    ("target + 1 == 'a'", 9, "a string cannot be joined with a number", ""),
    (
        "target in run.args + [1]",
        21,
        "a list of strings cannot be joined with a list of numbers",
        "",
    ),
    ("{'a': 1, 'a': 2}['a'] == 1", 9, "this key is in the map already", ""),
    ("{'a': 1}['b'] == 1", 9, "the map has no such key", ""),
    ("{'a': 1}[0] == 1", 9, "expected a string, found a number", ""),
    ("{'a': 1, 'b': 'x'}['a'] == 1", 14, "expected a number, found a string", ""),
    ("{target: 1}['a'] == 1", 1, "the keys of a map are string literals, or all whole numbers", ""),
    (
        "{'a': run.args[0]}['a'] == ''",
        6,
        "a map holds literals and facts",
        "what has to be worked out first belongs outside of it",
    ),
    ("target in {}", 10, "an empty map holds nothing to test", ""),
    ("1 in {'a': 1}", 0, "expected a string, found a number", ""),
    (
        "(true ? 1 : 'a') == 1",
        8,
        "`?:` chooses between a number and a string",
        "both must be conditions, strings or numbers",
    ),
    ("$nope", 0, "there is no definition named `nope` in this file", ""),
    ("zz == 'x' && run.args.exists(zz, true)", 0, "there is no fact named `zz`", ""),
];

#[test]
fn type_errors_say_what_and_where() {
    for (text, start, message, hint) in TYPE_ERRORS {
        let problem = compile(text).expect_err(text);
        let found =
            (problem.span.start, problem.message.as_str(), problem.hint.unwrap_or_default());
        assert_eq!(found, (*start, *message, (*hint).to_owned()), "{text}");
    }
}

#[test]
fn nested_lists_are_refused_in_linear_time() {
    let text = format!("target in {}'a'{}", "[".repeat(60), "]".repeat(60));
    assert!(compile(&text).is_err());
}

fn with_definitions(definitions: &[(&str, &str)], text: &str) -> Result<bool, String> {
    let texts = definitions
        .iter()
        .map(|(name, text)| DefinitionText { name: (*name).into(), text: (*text).into() });
    let mut checker = Checker::new(texts.collect());
    match checker.condition(text) {
        Ok(condition) => Ok(holds(&condition, &facts()).unwrap()),
        Err(Failure::Here(problem)) => Err(problem.message),
        Err(Failure::Reported) => Err(checker.finish().0[0].1.message.clone()),
    }
}

#[test]
fn definitions_expand_recursively() {
    let definitions = [
        ("a", "$b && $ports == 443"),
        ("b", "under(target, $dir)"),
        ("dir", "'/w'"),
        ("ports", "network.port"),
        ("rs", "'**/*.rs'"),
    ];
    assert_eq!(with_definitions(&definitions, "$a && glob(target, $rs)"), Ok(true));
}

#[test]
fn definitions_do_not_see_loop_variables() {
    let error = with_definitions(&[("d", "x == 'a'")], "run.args.exists(x, $d)").unwrap_err();
    assert_eq!(error, "there is no fact named `x`");
}

#[test]
fn cycles_are_refused_and_named() {
    let error = with_definitions(&[("a", "$b"), ("b", "!$c"), ("c", "$b")], "$a").unwrap_err();
    assert_eq!(error, "a definition may not use itself: $b -> $c -> $b");
}

fn chain(length: usize, link: &dyn Fn(usize) -> String) -> Result<bool, String> {
    let mut texts: Vec<(String, String)> =
        (0..length - 1).map(|index| (format!("d{index}"), link(index + 1))).collect();
    texts.push((format!("d{}", length - 1), "true".into()));
    let borrowed: Vec<_> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    with_definitions(&borrowed, "$d0")
}

#[test]
fn chains_of_definitions_are_bounded() {
    let link = |next: usize| format!("$d{next} && true");
    assert_eq!(chain(64, &link), Ok(true));
    assert_eq!(chain(65, &link).unwrap_err(), "definitions use each other more than 64 deep");
}

#[test]
fn doubling_definitions_are_refused_without_expanding_them() {
    let error = chain(40, &|next| format!("$d{next} && $d{next}")).unwrap_err();
    assert_eq!(error, "with its definitions expanded, this takes more than 100000 steps");
}

#[test]
fn expanded_depth_is_bounded() {
    let error = chain(60, &|next| format!("{}$d{next}", "!".repeat(60))).unwrap_err();
    assert_eq!(error, "with its definitions expanded, this nests deeper than 160 levels");
}
