//! Parts of the engine that are yet to come, with the signatures they will have.

use std::sync::Arc;

use crate::{Diagnostic, Engine, Facts, LoadErrors, RuleRef, SourceFile, Verdict};

/// A rule that would have matched but for one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearMiss {
    /// The rule.
    pub rule: Arc<RuleRef>,
    /// What it would have said.
    pub action: Verdict,
    /// The test that failed, as it is written.
    pub test: String,
}

impl Engine {
    /// Rules that failed by exactly one test.
    #[must_use]
    pub fn near_misses(&self, _facts: &Facts) -> Vec<NearMiss> {
        Vec::new()
    }
}

/// What is probably a mistake in a set that loads.
#[must_use]
pub fn lint(_files: &[SourceFile], _engine: &Engine, _protected: &[String]) -> Vec<Diagnostic> {
    Vec::new()
}

/// A rule file in canonical form.
///
/// # Errors
/// The text is no rule file.
pub fn format(_name: &str, text: &str) -> Result<String, LoadErrors> {
    Ok(text.to_owned())
}

/// The JSON Schema of rule files.
#[must_use]
pub fn schema() -> String {
    "{}\n".to_owned()
}
