use super::language::{DEFINITION, Element, FUNCTIONS, METHODS, OPERATORS, QUESTIONS, VALUES};
use super::refusals::{FAILURES, MISTAKES};
use super::*;
use crate::check::{self, Checker, DefinitionText, Failure};
use crate::compile::Bool;
use crate::eval::holds;
use crate::examples::facts_of;
use crate::yaml::{Value, read};
use crate::{Engine, SourceFile};

#[test]
fn every_fact_is_described() {
    let facts = facts_reference();
    assert_eq!(facts.len(), FACTS.len());
    for fact in facts {
        assert!(fact.doc.ends_with('.') && !fact.doc.contains("  "), "{}: {}", fact.name, fact.doc);
        assert!(!fact.example.is_empty(), "{}", fact.name);
    }
}

#[test]
fn every_example_is_a_value_of_its_fact() {
    for fact in facts_reference() {
        let FactDoc { name, example, .. } = fact;
        let condition = match fact.kind {
            "string" => format!("{name} == '{example}'"),
            "number" => format!("{name} == {example}"),
            _ => format!("size({name}) > 0"),
        };
        let text = format!(
            "version: \"1\"\nrules:\n  - id: a\n    condition: \"{condition}\"\n    action: allow\n    \
             examples: {{ match: [{{ {name}: {example} }}] }}\n",
        );
        let loaded = Engine::load(&[SourceFile { name: "a.yaml".into(), text }]);
        assert!(loaded.is_ok(), "{:?}", loaded.err());
    }
}

/// The questions of the examples, by name.
fn questions() -> Vec<(String, Facts)> {
    let Value::Map(entries) = read("questions", QUESTIONS).unwrap().value else { panic!() };
    let facts = |node| facts_of(&node).map_err(|mistake| mistake.message).unwrap();
    entries.into_iter().map(|(key, node)| (key.text, facts(node))).collect()
}

fn compiled(condition: &str) -> Result<Bool, String> {
    let (name, text) = DEFINITION;
    let definition = DefinitionText { name: name.to_owned(), text: text.to_owned() };
    Checker::new(vec![definition]).condition(condition).map_err(|failure| match failure {
        Failure::Here(problem) => match problem.hint {
            Some(hint) => format!("{}; {hint}", problem.message),
            None => problem.message,
        },
        Failure::Reported => "the definition is broken".to_owned(),
    })
}

#[test]
fn every_example_of_the_language_holds_for_what_it_says() {
    let questions = questions();
    for Element { condition, holds: said, .. } in [VALUES, OPERATORS, FUNCTIONS, METHODS].concat() {
        let matcher = compiled(condition).unwrap_or_else(|why| panic!("{condition}: {why}"));
        let found = questions.iter().filter(|(_, facts)| {
            holds(&matcher, facts).unwrap_or_else(|fault| panic!("{condition}: {fault}"))
        });
        let found: Vec<&str> = found.map(|(name, _)| name.as_str()).collect();
        assert_eq!(found, said, "{condition}");
    }
}

#[test]
fn every_function_and_method_is_described_with_its_example() {
    let names = |elements: &[Element]| -> Vec<String> {
        let name = |element: &Element| {
            let name = element.form.split('(').next().unwrap();
            let name = name.rsplit('.').next().unwrap().to_owned();
            assert!(element.condition.contains(&format!("{name}(")), "{name}");
            name
        };
        elements.iter().map(name).collect()
    };
    assert_eq!(names(FUNCTIONS), check::FUNCTIONS);
    assert_eq!(names(METHODS), check::METHODS);
}

#[test]
fn mistakes_and_failures_are_told_in_these_words() {
    for mistake in MISTAKES {
        let why = compiled(mistake.condition).expect_err(mistake.condition);
        assert_eq!(why, mistake.says, "{}", mistake.condition);
    }
    let questions = questions();
    let (_, program) = questions.iter().find(|(name, _)| name == "program").unwrap();
    for failure in FAILURES {
        let matcher = compiled(failure.condition).unwrap();
        let why = holds(&matcher, program).expect_err(failure.condition).to_string();
        assert_eq!(why, failure.says, "{}", failure.condition);
    }
}

#[test]
fn the_page_has_every_key_and_every_row_has_its_cells() {
    let page = reference();
    for key in FILE_KEYS.iter().chain(&RULE_KEYS).chain(&EXAMPLE_KEYS) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
        assert!(row.is_some_and(|row| !row.ends_with("|  |")), "{key}: {row:?}");
    }
    let tables = page.split("\n\n").filter(|part| part.starts_with('|'));
    for table in tables {
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let first = cells(table.lines().next().unwrap());
        assert!(table.lines().all(|line| cells(line) == first), "{table}");
    }
    assert!(!page.contains("\n\n\n") && page.ends_with("|\n"));
}
