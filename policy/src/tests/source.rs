use proptest::prelude::*;

use super::*;
use crate::error::Place;
use crate::yaml::place_within;

fn first_error(text: &str) -> String {
    let diagnostics = read_file("a.yaml", text).expect_err(text);
    let first = &diagnostics[0];
    let hint = first.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    format!("{}:{}: {}{hint}", first.line, first.column, first.message)
}

const HEAD: &str = "version: \"1\"\n";

fn rule_error(lines: &str) -> String {
    first_error(&format!("{HEAD}rules:\n  - id: a\n    condition: \"true\"\n    {lines}\n"))
}

#[test]
fn reads_a_whole_file() {
    let file = read_file(
        "a.yaml",
        "version: \"1\"\ndefinitions:\n  d: target == 'x'\nrules:\n  - id: a\n    condition: $d\n    \
         action: deny\n    priority: -5\n    examples:\n      match: [ { target: x } ]\n",
    )
    .unwrap();
    assert_eq!(file.definitions[0].0, "d");
    let rule = &file.rules[0];
    assert_eq!((rule.action, rule.priority, rule.at.place.line), (Verdict::Block, -5, 5));
    assert_eq!((rule.matches.len(), rule.no_match.len()), (1, 0));
}

#[test]
fn a_condition_may_be_a_yaml_boolean() {
    let text = "version: \"1\"\nrules:\n  - { id: a, condition: true, action: allow }\n";
    assert_eq!(read_file("a.yaml", text).unwrap().rules[0].condition.value, "true");
}

#[test]
fn wrong_shapes_are_refused_with_place_and_nearest_name() {
    assert_eq!(
        rule_error("acton: allow"),
        "5:5: a rule has no key `acton` (did you mean `action`?)"
    );
    assert_eq!(rule_error("action: alow"), "5:13: `alow` is not an action (did you mean `allow`?)");
    assert_eq!(rule_error("description: x"), "3:5: the rule has no `action`");
    assert_eq!(
        rule_error("priority: high"),
        "5:15: `priority` must be a whole number, here is a text"
    );
    assert_eq!(rule_error("log: loud"), "5:10: `log` must be true or false, here is a text");
    assert_eq!(rule_error("action: [a]"), "5:13: `action` must be a text, here is a list");
    assert_eq!(
        first_error("rules: []\n"),
        "1:1: the file does not say its version (the first line of a rule file is `version: \"1\"`)"
    );
    assert_eq!(
        first_error("version: 1\n"),
        "1:10: the version must be the text \"1\" (write `version: \"1\"`, with the quotes)"
    );
    assert_eq!(
        first_error("version: \"1\"\nrulez: []\n"),
        "2:1: a rule file has no key `rulez` (did you mean `rules`?)"
    );
    assert_eq!(
        first_error("version: \"1\"\ndefinitions: { a-b: x }\n"),
        "2:16: `a-b` cannot name a definition (use letters, digits and `_`, a letter first)"
    );
    assert_eq!(first_error(""), "1:1: a rule file must be a mapping, here is nothing");
    assert_eq!(
        rule_error("id: b"),
        "5:5: duplicate mapping key: id (a key may stand once in a mapping)"
    );
}

#[test]
fn what_hides_meaning_in_yaml_is_refused() {
    for text in [
        "version: \"1\"\nrules: &a []\n",
        "version: \"1\"\nrules: *a\n",
        "version: \"1\"\n<<: { rules: [] }\n",
        "version: \"1\"\nversion: \"1\"\n",
        "version: \"1\"\n---\nversion: \"1\"\n",
        "version: !!binary MQ==\n",
        "version: !thing \"1\"\n",
        "version: !!bin%61ry MQ==\n",
        "version: !<tag:yaml.org,2002:bin%61ry> MQ==\n",
        "# x\r%TAG !e! tag:yaml.org,2002:b\r---\rversion: !e!inary MQ==\r",
        "\u{feff}%TAG !e! tag:yaml.org,2002:b\n---\nversion: !e!inary MQ==\n",
        "version: \"1\"\nrules: {{{{{{{{{{{{{{{{{{{{a: b}}}}}}}}}}}}}}}}}}}}\n",
        "version: \"1\"\n1: x\n",
        "\t",
        "a: [",
    ] {
        assert!(read_file("a.yaml", text).is_err(), "{text}");
    }
    let deep = format!("version: \"1\"\nrules: {}\n", "[".repeat(500_000));
    assert!(read_file("a.yaml", &deep).is_err());
    let deep = format!("version: \"1\"\nrules: {}\n", "{a: ".repeat(100_000));
    assert!(read_file("a.yaml", &deep).is_err());
}

#[test]
fn a_file_may_have_as_many_comments_as_it_likes() {
    let comments = "  # x\n".repeat(1000);
    let text = format!("{comments}{HEAD}{comments}definitions:\n{comments}  d: x\n{comments}");
    assert_eq!(read_file("a.yaml", &text).unwrap().definitions.len(), 1);
}

#[test]
fn every_mistake_of_a_file_is_reported() {
    let text = "version: \"1\"\nrules:\n  - id: a\n  - id: ''\n    action: x\n    condition: y\n";
    assert_eq!(read_file("a.yaml", text).unwrap_err().len(), 4);
}

#[test]
fn a_place_inside_a_scalar_is_found_in_every_style() {
    for (text, line, column) in [
        ("c: aa && bb\n", 1, 10),
        ("c: \"aa && bb\"\n", 1, 11),
        ("c: 'aa && bb'\n", 1, 11),
        ("c: >\n  aa &&\n  bb\n", 3, 3),
        ("c: |-  \n  aa\n  && bb\n", 3, 6),
        ("c: \"aa &&\n   bb\"\n", 2, 4),
    ] {
        let Value::Map(entries) = read("a", text).unwrap().value else { panic!("{text}") };
        let Value::Str(value) = &entries[0].1.value else { panic!("{text}") };
        let offset = value.find("bb").unwrap();
        let place = place_within(text, entries[0].1.at, value, offset);
        assert_eq!(place, Place { line, column }, "{text:?}");
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = read_file("a.yaml", &text);
    }

    #[test]
    fn text_made_of_yaml_never_panics(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "version: \"1\"\n", "rules:\n", "  - id: a\n", "    condition: ", "'", "\"", "{", "}",
                "[", "]", "- ", ": ", "\n", "  ", "|\n", ">-\n", "&a ", "*a", "!!str ", "# x\n", "é",
                "examples:\n", "match", "definitions:\n", "%", "---\n", "true", "1e9", "? ",
            ]),
            0..40,
        )
    ) {
        let _ = read_file("a.yaml", &words.concat());
    }

    #[test]
    fn a_place_is_always_found(file in any::<String>(), value in any::<String>(),
                               start in 0usize..64, offset in 0usize..64) {
        let at = At { place: Place::START, start };
        let _ = place_within(&file, at, &value, offset);
    }
}
