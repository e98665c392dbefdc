//! Stage 5, judge: the rules answer every question; the strictest answer stands.

pub(crate) mod asks;
mod guard;
pub(crate) mod rules;

pub(crate) use guard::Guard;

use policy::Verdict;
use rules::Ruleset;

use crate::facts::Question;
use crate::resolve::{Object, Request, Resolved};

/// What was decided, and by what.
#[derive(Clone, Debug)]
#[must_use]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// The deciding rule; built-in ones begin with `builtin:`.
    pub(crate) rule: Option<String>,
    /// The rule's file and line, where it has one.
    pub(crate) origin: Option<String>,
    pub(crate) reason: String,
    pub(crate) errors: Vec<String>,
    /// Recorded, but not announced: the rule says `log: false`.
    pub(crate) quiet: bool,
    /// The question that decided: the refused one, else the first.
    pub(crate) question: Option<Question>,
}

impl Judgement {
    fn builtin(verdict: Verdict, rule: &str, reason: &str, question: Option<Question>) -> Self {
        Self {
            verdict,
            rule: Some(format!("builtin:{rule}")),
            origin: None,
            reason: reason.to_owned(),
            errors: Vec::new(),
            quiet: false,
            question,
        }
    }

    /// The refusal of a `/proc` entry outside the session: no rule is asked.
    pub(crate) fn guarded(requested: &[u8]) -> Self {
        let target = crate::resolve::names::text(requested);
        let mut facts = policy::Facts { target, ..policy::Facts::default() };
        facts.file.requested.clone_from(&facts.target);
        "read".clone_into(&mut facts.file.operation);
        let object = Object { requested: requested.to_vec(), ..Object::default() };
        let reason = "only public entries of /proc can be opened of processes outside the session";
        let question = Some(Question { facts, object });
        Self::builtin(Verdict::Block, "process-guard", reason, question)
    }

    /// The denial of a check whose evaluation takes too long.
    pub(crate) fn timed_out(question: Option<Question>) -> Self {
        let verdict = Verdict::Block;
        let judgement = Self::builtin(verdict, "timeout", "evaluation timeout", question);
        Self { rule: None, ..judgement }
    }

    /// A program's own supervisor can always be asked: no rule is.
    pub(crate) fn welcome(question: Option<Question>) -> Self {
        let reason = "the agent socket is the way to one's own supervisor";
        Self::builtin(Verdict::Allow, "agent-socket", reason, question)
    }

    pub(crate) fn allows(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

/// An operator's yes to one question.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) facts: policy::Facts,
    /// Who said so, as a sentence.
    pub(crate) by: String,
}

/// Judges a call: what protects Outcall itself first, then the rules. What a rule holds for an
/// operator is allowed where one has granted it. Pure.
pub(crate) fn judge(
    rules: &Ruleset,
    guard: &Guard,
    resolved: &Resolved,
    questions: &[Question],
    grants: &[Grant],
) -> Judgement {
    if questions.is_empty() {
        return without_question(resolved);
    }
    answer(rules, guard, questions, grants)
}

/// Judges an explicit check by the same rules. `guarded` are its objects as what protects Outcall
/// itself is asked about them, beside the questions themselves.
pub(crate) fn judge_check(
    rules: &Ruleset,
    guard: &Guard,
    questions: &[Question],
    guarded: &[Question],
    grants: &[Grant],
) -> Judgement {
    match guard.refuses(&rules.places, guarded) {
        Some((question, reason)) => protected(question, reason),
        None => answer(rules, guard, questions, grants),
    }
}

fn protected(question: &Question, reason: &str) -> Judgement {
    Judgement::builtin(Verdict::Block, "protected", reason, Some(question.clone()))
}

/// The strictest answer to any of the questions.
fn answer(rules: &Ruleset, guard: &Guard, questions: &[Question], grants: &[Grant]) -> Judgement {
    if let Some((question, reason)) = guard.refuses(&rules.places, questions) {
        return protected(question, reason);
    }
    let mut errors = Vec::new();
    let (mut allowed, mut held) = (None, None);
    for question in questions {
        let decision = rules.engine.decide(&question.facts);
        let reason = decision.reason(&question.facts).into_owned();
        let quiet = !decision.is_announced();
        errors.extend(decision.errors);
        let mut judgement = Judgement {
            verdict: decision.verdict,
            origin: decision.rule.as_ref().map(|rule| format!("{}:{}", rule.file, rule.line)),
            rule: decision.rule.map(|rule| rule.id.to_string()),
            reason,
            errors: errors.clone(),
            quiet,
            question: Some(question.clone()),
        };
        if judgement.verdict == Verdict::Ask
            && let Some(grant) = grants.iter().find(|grant| grant.facts == question.facts)
        {
            judgement.verdict = Verdict::Allow;
            judgement.reason = format!("{}; {}", judgement.reason, grant.by);
        }
        match judgement.verdict {
            Verdict::Allow => drop(allowed.get_or_insert(judgement)),
            Verdict::Ask => drop(held.get_or_insert(judgement)),
            Verdict::Block => return judgement,
        }
    }
    held.or(allowed).unwrap_or_else(|| {
        Judgement::builtin(
            Verdict::Block,
            "internal",
            "no question was answered",
            questions.first().cloned(),
        )
    })
}

/// Calls about which rules have nothing to say.
fn without_question(resolved: &Resolved) -> Judgement {
    let allow = |rule, reason| Judgement::builtin(Verdict::Allow, rule, reason, None);
    match &resolved.request {
        Request::PathOnly { .. } => {
            allow("path-only", "an O_PATH descriptor names an object and gives no access to it")
        }
        Request::Send(_) => {
            allow("connected", "no address in it: the connection itself was judged")
        }
        Request::Bind(_) => {
            allow("bind", "an address of its own: nothing is reached and no file made")
        }
        Request::Mutate(_) => allow("no-change", "both times stay as they are"),
        Request::Connect(_) => allow("disconnect", "AF_UNSPEC dissolves an association"),
        _ => Judgement::builtin(Verdict::Block, "internal", "nothing to decide on", None),
    }
}
