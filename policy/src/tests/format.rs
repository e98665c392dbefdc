use proptest::prelude::*;

use super::*;
use crate::source::RawFile;
use crate::{Engine, SourceFile, default_rules};

/// The canonical layout, which is the same again when it is formatted once more.
fn formatted(text: &str) -> String {
    let once = format("a.yaml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let twice = format("a.yaml", &once).unwrap_or_else(|errors| panic!("{errors}\n{once}"));
    assert_eq!(once, twice, "{text}");
    assert!(once.ends_with('\n') && !once.ends_with("\n\n"), "{once}");
    assert!(
        !once.contains('\r') && once.lines().all(|line| !line.ends_with([' ', '\t'])),
        "{once}"
    );
    once
}

fn formats_to(text: &str, wanted: &str) {
    let found = formatted(text);
    assert!(found == wanted, "\n{found}\ninstead of\n{wanted}");
}

#[test]
fn a_whole_file_is_brought_into_order() {
    formats_to(
        "\u{feff}rules:\r\n- examples: {no_match: [{target: /b}], match: [{target: '/a'}]}\r\n  \
         action: deny\r\n  id: 'one'\r\n  condition: target == '/a'\r\n- {priority: 0x10, id: two, \
         condition: true, action: \"allow\"}\r\ndefinitions:\r\n    d: 'true'\r\nversion: '1'\r\n\r\n",
        "version: \"1\"\n\ndefinitions:\n  d: \"true\"\n\nrules:\n  - id: one\n    condition: \
         \"target == '/a'\"\n    action: block\n    examples:\n      match:\n        - { target: /a \
         }\n      no_match:\n        - { target: /b }\n\n  - id: two\n    condition: \"true\"\n    \
         action: allow\n    priority: 16\n",
    );
}

#[test]
fn keys_that_are_not_known_come_last_as_written() {
    formats_to(
        "zeta: 1\nversion: \"1\"\nalpha: ~\nrules:\n- {zz: 1.50, log: false, id: a, aa: [], reason: r}\n",
        "version: \"1\"\n\nrules:\n  - id: a\n    reason: r\n    log: false\n    zz: 1.50\n    aa: []\n\
         \nzeta: 1\n\nalpha:\n",
    );
}

#[test]
fn every_key_of_the_format_has_its_place() {
    use crate::source::{FILE_KEYS, RULE_KEYS};
    for key in FILE_KEYS {
        assert!(shape::Shape::File.rank(Some(key)) < shape::Shape::File.rank(Some("?")), "{key}");
    }
    for key in RULE_KEYS {
        assert!(shape::Shape::Rule.rank(Some(key)) < shape::Shape::Rule.rank(Some("?")), "{key}");
    }
}

#[test]
fn comments_stay_with_what_they_stand_at() {
    formats_to(
        "# the file\n\n# the rules\nrules: # all\n  # first\n  - # dash\n    condition: # why\n      \
         # own\n      true\n    # the name\n    id: a # short\n    # the end of a\n\n  # second\n  - \
         {id: b, # inside\n     # above\n     action: ask} # last\n  # the end of the rules\n\
         # the version\nversion: \"1\"   # one  \n# the end\n",
        "# the file\n\n# the version\nversion: \"1\" # one\n\n# the rules\nrules: # all\n  # first\n  \
         # dash\n  # the name\n  - id: a # short\n    # own\n    condition: \"true\" # why\n    \
         # the end of a\n\n  # second\n  - id: b # inside\n    # above\n    action: ask # last\n\n  \
         # the end of the rules\n\n# the end\n",
    );
}

#[test]
fn comments_in_examples_keep_them_apart() {
    formats_to(
        "version: \"1\"\nrules:\n  - id: a\n    examples:\n      match: [ # both\n        {target: /a}, \
         # one\n        # two\n        {target: /b},\n        # end\n      ]\n      no_match:\n        \
         - target: /c # c\n        - {run: {args: [a, b]}} # d\n",
        "version: \"1\"\n\nrules:\n  - id: a\n    examples:\n      match: # both\n        - { target: /a } \
         # one\n        # two\n        - { target: /b }\n        # end\n      no_match:\n        - target: \
         /c # c\n        - { run: { args: [a, b] } } # d\n",
    );
}

#[test]
fn a_comment_of_a_long_example_goes_above_it() {
    let path = "/x".repeat(45);
    formats_to(
        &format!(
            "version: \"1\"\nrules: [{{examples: {{match: [\n{{target: {path}}} # c\n]}}}}]\n"
        ),
        &format!(
            "version: \"1\"\n\nrules:\n  - examples:\n      match:\n        # c\n        - target: {path}\n"
        ),
    );
}

#[test]
fn a_comment_without_a_place_is_an_error_and_not_lost() {
    let text = "version: \"1\"\ndefinitions:\n  a: # one\n    \"true\" # two\n";
    let errors = format("a.yaml", text).unwrap_err();
    let first = errors.iter().next().unwrap();
    assert_eq!(
        (first.line, first.message.as_str()),
        (4, "this comment and an earlier one would stand on one line")
    );
}

#[test]
fn blank_lines_part_groups() {
    formats_to(
        "\n\n# a\n\n\n# b\n\nversion: \"1\"\ndefinitions:\n\n  a: \"true\"\n\n\n  # c\n\n  # d\n  b: \
         \"true\"\n  c: \"true\"\nrules:\n\n  - id: x\n\n    action: ask\n  - id: z\n\n\n",
        "# a\n\n# b\n\nversion: \"1\"\n\ndefinitions:\n  a: \"true\"\n\n  # c\n\n  # d\n  b: \"true\"\n  \
         c: \"true\"\n\nrules:\n  - id: x\n    action: ask\n\n  - id: z\n",
    );
}

#[test]
fn conditions_are_quoted_and_blocks_keep_their_lines() {
    for (written, wanted) in [
        ("target == 'a'", "\"target == 'a'\""),
        ("'target == \"a\"'", "target == \"a\""),
        ("target.matches('\\.x')", "target.matches('\\.x')"),
        ("'\"a\" == target'", ">-\n    \"a\" == target"),
        (">-\n    target ==\n    'a'", ">-\n    target ==\n    'a'"),
        (">-\n    target == 'a'", "\"target == 'a'\""),
        ("|\n        target ==\n          'a'\n\n", "|\n    target ==\n      'a'"),
        ("|+\n    a\n", "\"a\\n\\n\""),
        (">\n    a\n     b\n\n    c\n", ">\n    a\n     b\n\n    c"),
        ("|3-\n      a\n     b", "|2-\n     a\n    b"),
        (">-\n    a\n    b\u{a0}", ">-\n    a\n    b\u{a0}"),
        ("\"\n      a\"", "\" a\""),
        ("|-\n    a  \n    b", "\"a  \\nb\""),
        ("\"a &&\n      b\"", ">-\n    a &&\n    b"),
        ("a &&\n    b", ">-\n    a &&\n    b"),
        ("\"a\\tb\"", "\"a\\tb\""),
        ("\"a\\u202eb\"", "\"a\\u202Eb\""),
    ] {
        let text = format!("version: \"1\"\ndefinitions:\n  d: {written}\n");
        formats_to(&text, &format!("version: \"1\"\n\ndefinitions:\n  d: {wanted}\n"));
    }
}

#[test]
fn a_condition_that_is_too_long_gets_its_own_line() {
    let fits = format!("'{}'", "x".repeat(91));
    formats_to(
        &format!("version: '1'\ndefinitions:\n  d: \"{fits}\"\n"),
        &format!("version: \"1\"\n\ndefinitions:\n  d: \"{fits}\"\n"),
    );
    let long = format!("'{}'", "x".repeat(92));
    formats_to(
        &format!("version: '1'\ndefinitions:\n  d: \"{long}\"\n"),
        &format!("version: \"1\"\n\ndefinitions:\n  d: >-\n    {long}\n"),
    );
}

#[test]
fn texts_are_quoted_only_where_they_must_be() {
    for (value, wanted) in [
        ("unix:/run/x.sock", "unix:/run/x.sock"),
        ("10.0.0.5:22", "10.0.0.5:22"),
        ("-rf", "-rf"),
        ("a#b", "a#b"),
        ("it's", "it's"),
        ("[::1]:80", "\"[::1]:80\""),
        ("a: b", "\"a: b\""),
        ("a #b", "\"a #b\""),
        ("a,b", "\"a,b\""),
        ("", "\"\""),
        (" a", "\" a\""),
        ("1", "\"1\""),
        ("1e3", "\"1e3\""),
        ("0x1f", "\"0x1f\""),
        ("12:30", "\"12:30\""),
        ("2026-01-01", "\"2026-01-01\""),
        ("Yes", "\"Yes\""),
        ("NULL", "\"NULL\""),
        ("~", "\"~\""),
        (".nan", "\".nan\""),
        ("<<", "\"<<\""),
        ("\"x\"", "'\"x\"'"),
        ("\u{85}", "\"\\x85\""),
        ("é 漢 🦀", "é 漢 🦀"),
    ] {
        let text = format!(
            "version: \"1\"\nrules: [{{id: a, examples: {{match: [{{target: {}}}]}}}}]\n",
            escaped(value)
        );
        let out = formatted(&text);
        assert!(out.contains(&format!("- {{ target: {wanted} }}\n")), "{value:?}: {out}");
    }
}

#[test]
fn what_is_no_rule_file_is_refused() {
    for text in ["", "[]", "{}", "a: &b c\n", "a: [\n", "a: 1\na: 2\n", "x\n", "a: !!binary eA==\n"]
    {
        assert!(format("a.yaml", text).is_err_and(|errors| errors.iter().count() > 0), "{text:?}");
    }
}

#[test]
fn many_comments_are_kept() {
    let lines = "  # c\n".repeat(1000);
    let text = format!("{lines}version: \"1\"\n{lines}rules:\n{lines}  - id: a\n{lines}");
    assert_eq!(formatted(&text).matches("# c").count(), 4000);
}

#[test]
fn the_shipped_rules_are_in_canonical_form_and_load() {
    let files = default_rules();
    let formatted: Vec<SourceFile> = files
        .iter()
        .map(|file| SourceFile { name: file.name.clone(), text: formatted(&file.text) })
        .collect();
    Engine::load(&formatted).unwrap();
    for (file, formatted) in files.iter().zip(&formatted) {
        assert!(file.text == formatted.text, "{} is not formatted", file.name);
        let comments = |text: &str| text.matches("# ").count();
        assert_eq!(comments(&file.text), comments(&formatted.text));
    }
}

/// A text in double quotes, with everything but letters and digits escaped.
fn escaped(value: &str) -> String {
    let each = value.chars().map(|c| match c {
        c if c.is_ascii_alphanumeric() => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    });
    format!("\"{}\"", each.collect::<String>())
}

/// What rules are made of, apart from places.
fn raw(text: &str) -> String {
    let RawFile { definitions, rules } = read_file("a.yaml", text).unwrap();
    let nodes = |nodes: &[crate::yaml::Node]| -> Vec<String> {
        nodes.iter().map(|node| format!("{:?}", meaning(node))).collect()
    };
    let definitions = definitions.iter().map(|(name, text)| format!("{name} {:?}", text.value));
    let rules = rules.iter().map(|rule| {
        let texts = (&rule.id.value, &rule.condition.value, &rule.description, &rule.reason);
        let examples = (nodes(&rule.matches), nodes(&rule.no_match));
        format!("{texts:?} {:?} {} {examples:?}", rule.action, rule.priority)
    });
    definitions.chain(rules).collect::<Vec<_>>().join("\n")
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a", "b c", "'", "\"", "\\", "#", " #", ": ", ":", ", ", "{", "}", "[", "]", "-", "- ",
        "?", "!", "&", "*", "|", ">", "%", "@", "`", "~", "\n", "\t", " ", "é", "🦀", "\u{2028}",
        "\u{202e}", "\u{feff}", "\0", "0", "1", ".", "e", "_", "x", "true", "no", "null", "---",
        "...", "<<", "=", "\u{85}", "\u{a0}", "漢",
    ]);
    prop_oneof![
        3 => prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
        1 => "[ -~]{0,120}",
        1 => any::<f64>().prop_map(|number| number.to_string()),
        1 => "[0-9:._eTx+-]{1,6}",
    ]
    // The reader refuses this text wherever it stands.
    .prop_filter("binary", |text| !text.contains("binary"))
}

/// A value in one of the styles that can hold it, for a key at that column.
fn scalar(column: usize) -> impl Strategy<Value = String> {
    (text(), 0..5_u8).prop_map(move |(text, style)| {
        let is_clean = !text.contains(|c: char| c.is_control() && c != '\n')
            && !text.contains(['\u{feff}', '\u{fffe}', '\u{ffff}'])
            && !text.trim().is_empty();
        let pad = " ".repeat(column + 3);
        match style {
            0 if is_clean => {
                format!("|3\n{pad}{}", text.replace('\n', &format!("\n{pad}")))
            }
            1 if is_clean => {
                format!(">3-\n{pad}{}", text.replace([' ', '\n'], &format!("\n{pad}")))
            }
            2 if is_clean && !text.contains('\n') => format!("'{}'", text.replace('\'', "''")),
            3 => escaped(&text).replace("\\U00000020", &format!("\n{pad}")),
            _ => escaped(&text),
        }
    })
}

fn comment() -> impl Strategy<Value = String> {
    let gap = prop::sample::select(vec!["", "\n", "\n\n"]);
    let own =
        (gap, 0..9_usize, "#[ -~é]{0,9}", any::<bool>()).prop_map(|(gap, indent, text, end)| {
            format!("{gap}{}{text}\n{}", " ".repeat(indent), if end { gap } else { "" })
        });
    prop_oneof![3 => Just(String::new()), 1 => own]
}

/// An entry over one or more lines, with a comment before it or after it.
fn entry(column: usize, key: &'static str, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let trailing = prop_oneof![3 => Just(""), 1 => Just(" # trailing"), 1 => Just("\t#")];
    (comment(), value, trailing)
        .prop_map(move |(before, value, trailing)| {
            let pad = " ".repeat(column);
            match value.split_once('\n') {
                Some((header, rest)) if header.starts_with(['|', '>']) => {
                    format!("{before}{pad}{key}: {header}{trailing}\n{rest}\n")
                }
                _ => format!("{before}{pad}{key}: {value}{trailing}\n"),
            }
        })
        .boxed()
}

fn example() -> impl Strategy<Value = String> {
    let flow = (text(), text(), text(), any::<u16>()).prop_map(|(a, b, c, port)| {
        format!(
            "{{target: {}, run: {{args: [{}, {}]}}, network: {{port: {port}}}, metadata: {{{}: \
                 x}}}}",
            escaped(&a),
            escaped(&b),
            escaped(&c),
            escaped(&b)
        )
    });
    let block = (scalar(10), comment(), text()).prop_map(|(target, comment, cwd)| {
        format!("target: {target}\n{comment}          run.cwd: {}", escaped(&cwd))
    });
    prop_oneof![flow, block].prop_map(|example| format!("        - {example}\n"))
}

fn rule() -> impl Strategy<Value = String> {
    let id = "[a-z:# '0-9]{1,12}".prop_map(|id| escaped(&id)).boxed();
    let condition = prop_oneof![4 => scalar(4), 1 => Just("true".to_owned())].boxed();
    let action = prop::sample::select(vec!["allow", "'block'", "ask", "deny", "\"deny\""]);
    let priority = any::<i64>().prop_map(|number| number.to_string()).boxed();
    let cases = prop::collection::vec(example(), 1..3).prop_map(|cases| cases.concat()).boxed();
    let examples = (comment(), cases.clone(), comment(), cases, any::<bool>());
    let examples = examples.prop_map(|(one, no, two, yes, both)| {
        let head = format!("    examples:\n{one}      no_match:\n{no}");
        if both { format!("{head}{two}      match: # yes\n{yes}") } else { head }
    });
    let keys = (
        entry(4, "id", id),
        entry(4, "condition", condition),
        entry(4, "action", action.prop_map(str::to_owned).boxed()),
        entry(4, "priority", priority),
        entry(4, "description", scalar(4).boxed()),
        entry(4, "reason", scalar(4).boxed()),
        examples,
    );
    keys.prop_map(|(a, b, c, d, e, f, g)| vec![a, b, c, d, e, f, g]).prop_shuffle().prop_map(
        |keys| {
            let body = keys.concat();
            format!("  -\n{body}")
        },
    )
}

fn file() -> impl Strategy<Value = String> {
    let definitions = (entry(2, "a", scalar(2).boxed()), entry(2, "b", scalar(2).boxed()));
    let definitions = definitions.prop_map(|(a, b)| format!("definitions:\n{a}{b}"));
    let rules = prop::collection::vec((comment(), rule()), 1..4).prop_map(|rules| {
        let each = rules.into_iter().map(|(before, rule)| before + &rule);
        format!("rules: # all\n{}", each.collect::<String>())
    });
    let version = (comment(), comment()).prop_map(|(a, b)| format!("{a}version: \"1\"\n{b}"));
    (version, definitions, rules)
        .prop_map(|(a, b, c)| vec![a, b, c])
        .prop_shuffle()
        .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn a_generated_file_keeps_meaning_and_comments(text in file(), crlf in any::<bool>()) {
        prop_assume!(read_file("a.yaml", &text).is_ok());
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        let once = formatted(&text);
        prop_assert_eq!(raw(&once), raw(&text));
        let found = comments_of(&once).map(|found| texts(&found));
        prop_assert_eq!(found, comments_of(&unix(&text)).map(|found| texts(&found)));
    }

    #[test]
    fn text_made_of_yaml_is_formatted_once_or_refused(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "version: \"1\"\n", "rules:\n", "  - id: a\n", "    condition: ", "'", "\"", "{", "}",
                "[", "]", "- ", ": ", "\n", "  ", "|\n", ">-\n", "!!str ", "# x\n", " # y\n", "é", ",",
                "    examples:\n", "      match:\n", "definitions:\n", "---\n", "true", "1e9", "? ",
                "a: b\n", "  b: c\n", "    c: d\n", "  - d\n", "    - e\n", "a", "b: ",
            ]),
            0..30,
        )
    ) {
        let text = words.concat();
        if let Ok(once) = format("a.yaml", &text) {
            prop_assert_eq!(format("a.yaml", &once), Ok(once));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = format("a.yaml", &text);
    }
}
