//! `cedar-policy`: every rule is a policy, a block is a `forbid`. The kind of action is in the
//! scope, the rest in a `when` clause over the context.

use ::cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};

use super::Rival;
use crate::{Question, Rule, Test};

pub(super) struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    requests: Vec<Request>,
}

impl Cedar {
    pub(super) fn new(rules: &[Rule], questions: &[Question]) -> Self {
        let text: String = rules.iter().map(policy).collect();
        Self {
            authorizer: Authorizer::new(),
            policies: text.parse().expect("Cedar policies"),
            entities: Entities::empty(),
            requests: questions.iter().map(request).collect(),
        }
    }
}

fn policy(rule: &Rule) -> String {
    let effect = if rule.allows { "permit" } else { "forbid" };
    let action = rule.test.action();
    let test = match &rule.test {
        Test::Under(dir) => format!("context.below like \"{dir}/*\""),
        Test::Prefix(text) => format!("context.target like \"{text}*\""),
        Test::Suffix(text) => format!("context.target like \"*{text}\""),
        Test::Path(path) | Test::Program(path) => format!("context.target == \"{path}\""),
        Test::Host(name) => format!("context.hostname == \"{name}\""),
        Test::HostsBelow(name) => format!("context.hostname like \"*.{name}\""),
        Test::Range(first, length) => {
            format!("context.ip.isInRange(ip(\"{first}/{length}\"))")
        }
        Test::Argument { tool, word } => {
            format!("context.tool == \"{tool}\" && context.args.contains(\"{word}\")")
        }
        Test::Word(word) => format!("context.argv.contains(\"{word}\")"),
    };
    format!("{effect}(principal, action == Action::\"{action}\", resource) when {{ {test} }};\n")
}

fn request(question: &Question) -> Request {
    let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
    let set = |words: &[String]| RestrictedExpression::new_set(words.iter().map(|w| text(w)));
    let pairs = [
        ("target", text(&question.target)),
        ("below", text(&question.below())),
        ("hostname", text(question.hostname)),
        ("ip", RestrictedExpression::new_ip(question.ip.to_string())),
        ("tool", text(question.tool())),
        ("args", set(&question.args())),
        ("argv", set(&question.argv)),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value));
    let context = Context::from_pairs(pairs).expect("a context");
    let name = |text: String| text.parse::<EntityUid>().expect("an entity's name");
    let action = name(format!("Action::\"{}\"", question.action));
    let (agent, object) = (name("Agent::\"a\"".into()), name("Object::\"o\"".into()));
    Request::new(agent, action, object, context, None).expect("a request")
}

impl Rival for Cedar {
    fn allows(&mut self, question: usize) -> bool {
        let request = &self.requests[question];
        let answer = self.authorizer.is_authorized(request, &self.policies, &self.entities);
        answer.decision() == Decision::Allow
    }
}
