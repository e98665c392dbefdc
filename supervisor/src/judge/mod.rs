//! Stage 5, judge: the rules answer every question; the strictest answer stands.

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

    /// A program's own supervisor can always be asked: no rule is.
    pub(crate) fn welcome(question: Option<Question>) -> Self {
        let reason = "the agent socket is the way to one's own supervisor";
        Self::builtin(Verdict::Allow, "agent-socket", reason, question)
    }

    pub(crate) fn allows(&self) -> bool {
        self.verdict == Verdict::Allow
    }
}

/// Judges a call: what protects Outcall itself first, then the rules. Pure.
pub(crate) fn judge(
    rules: &Ruleset,
    guard: &Guard,
    resolved: &Resolved,
    questions: &[Question],
) -> Judgement {
    let Some(first) = questions.first() else { return without_question(resolved) };
    if let Some((question, reason)) = guard.refuses(&rules.places, questions) {
        return Judgement::builtin(Verdict::Block, "protected", reason, Some(question.clone()));
    }
    let mut errors = Vec::new();
    let mut allowed = None;
    for question in questions {
        let decision = rules.engine.decide(&question.facts);
        let reason = decision.reason(&question.facts).into_owned();
        let quiet = !decision.is_announced();
        errors.extend(decision.errors);
        let judgement = Judgement {
            verdict: decision.verdict,
            origin: decision.rule.as_ref().map(|rule| format!("{}:{}", rule.file, rule.line)),
            rule: decision.rule.map(|rule| rule.id.to_string()),
            reason,
            errors: errors.clone(),
            quiet,
            question: Some(question.clone()),
        };
        if !judgement.allows() {
            return judgement;
        }
        allowed.get_or_insert(judgement);
    }
    allowed.unwrap_or_else(|| {
        Judgement::builtin(
            Verdict::Block,
            "internal",
            "no question was answered",
            Some(first.clone()),
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
