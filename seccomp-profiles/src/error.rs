//! What can be wrong with a profile, as sentences that name the remedy.

/// Why a text is not a profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The text is not JSON, or a value has the wrong type.
    #[error("the profile is not valid seccomp JSON")]
    Syntax(#[source] serde_json::Error),
    /// A key that no profile has.
    #[error("{place}: unknown key `{key}`; did you mean `{nearest}`?")]
    UnknownKey {
        /// Where in the profile.
        place: String,
        /// The key as written.
        key: String,
        /// The key that comes nearest.
        nearest: &'static str,
    },
    /// A key that is Docker's or the runtime's own, and would change the meaning if it were ignored.
    #[error("{place}: key `{key}` is resolved by the container engine, not here; {remedy}")]
    ForeignKey {
        /// Where in the profile.
        place: String,
        /// The key as written.
        key: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// A value outside its fixed vocabulary.
    #[error("{place}: `{word}` is no {kind}; did you mean `{nearest}`?")]
    UnknownWord {
        /// Where in the profile.
        place: String,
        /// The value as written.
        word: String,
        /// What the value should have been: an action, an operator, …
        kind: &'static str,
        /// The value that comes nearest.
        nearest: &'static str,
    },
    /// An entry that lists no system call.
    #[error("{place}: `names` is empty; list at least one system call or remove the entry")]
    NoNames {
        /// Where in the profile.
        place: String,
    },
    /// An errno that the kernel would not return, or one beside an action that has none.
    #[error("{place}: errno {errno} is refused; use 0 to 4095, with SCMP_ACT_ERRNO only")]
    Errno {
        /// Where in the profile.
        place: String,
        /// The number as written.
        errno: u32,
    },
}

/// Why a profile does not become a filter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A name that neither libseccomp nor this crate's own table knows.
    #[error("no system call is named `{name}`; did you mean `{nearest}`?")]
    UnknownSyscall {
        /// The name as written.
        name: String,
        /// The name that comes nearest.
        nearest: String,
    },
    /// Two entries without arguments disagree.
    #[error("`{name}` has two fallbacks, {first} and {second}; keep one, or give one of them args")]
    Conflict {
        /// The system call.
        name: String,
        /// The first fallback.
        first: String,
        /// The one that disagrees.
        second: String,
    },
    /// Conditions on the same argument twice: engines disagree whether that is "and" or "or".
    #[error("`{name}` tests argument {index} twice in one entry; write one entry for each test")]
    RepeatedArgument {
        /// The system call.
        name: String,
        /// The argument.
        index: u32,
    },
    /// A system call has six arguments.
    #[error("`{name}` tests argument {index}; arguments are numbered 0 to 5")]
    ArgumentIndex {
        /// The system call.
        name: String,
        /// The argument as written.
        index: u32,
    },
    /// A masked test whose expected value has bits that the mask removes.
    #[error(
        "`{name}` can never match: {datum:#x} has bits outside the mask {mask:#x}; for \
         SCMP_CMP_MASKED_EQ, `value` is the mask and `valueTwo` what must remain"
    )]
    NeverMatches {
        /// The system call.
        name: String,
        /// The mask.
        mask: u64,
        /// The value that cannot appear.
        datum: u64,
    },
    /// The profile is written for other machines.
    #[error("the profile is for {listed}, this machine is {native}; add it to `architectures`")]
    Architecture {
        /// What the profile lists.
        listed: String,
        /// What it should list.
        native: &'static str,
    },
    /// The machine is one for which the prologue is not written.
    #[error("filters are compiled for x86_64 and aarch64 only; run on one of those")]
    UnsupportedMachine,
    /// The program is longer than the kernel takes.
    #[error("the filter has {0} instructions, the kernel takes 4096; merge or drop entries")]
    TooLong(usize),
    /// libseccomp refused a step.
    #[error("libseccomp could not {step}")]
    Libseccomp {
        /// What was being done.
        step: String,
        /// Its own words.
        #[source]
        source: libseccomp::error::SeccompError,
    },
    /// The memory file that takes libseccomp's output failed.
    #[error("the memory file that takes libseccomp's output could not be used")]
    Memory(#[source] std::io::Error),
}

/// The candidate most like `word`; empty only when there are no candidates.
pub(crate) fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> &'a str {
    candidates
        .into_iter()
        .min_by_key(|candidate| {
            let distance =
                strsim::damerau_levenshtein(&word.to_lowercase(), &candidate.to_lowercase());
            // Among equally distant names, a wrong letter is likelier than one too many.
            (distance, word.len().abs_diff(candidate.len()))
        })
        .unwrap_or_default()
}
