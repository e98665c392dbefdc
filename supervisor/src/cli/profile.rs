//! `outcallctl profile`.

use anyhow::Context;
use seccomp_profiles::{Profile, Severity, compile, lint, pfc};

use super::arguments::{ProfileCommand, ProfileFormat};
use crate::daemon::find_profile;

pub(super) fn profile(command: ProfileCommand) -> anyhow::Result<u8> {
    match command {
        ProfileCommand::List { json } => list(json),
        ProfileCommand::Show { profile, format } => show(&profile, format),
        ProfileCommand::Lint { profile, json } => check(&profile, json),
    }
}

fn list(json: bool) -> anyhow::Result<u8> {
    for name in Profile::builtin_names() {
        let profile = find_profile(name)?;
        let filter = compile(&profile)?;
        if json {
            let line = serde_json::json!({
                "name": name,
                "description": profile.description(),
                "notified": profile.notified(),
                "instructions": filter.len(),
                "digest": filter.digest(),
            });
            println!("{line}");
        } else {
            println!("{name:<10} {} instructions  {}", filter.len(), profile.description());
        }
    }
    Ok(0)
}

fn show(name: &str, format: ProfileFormat) -> anyhow::Result<u8> {
    let profile = find_profile(name)?;
    match format {
        ProfileFormat::Pfc => print!("{}", pfc(&profile)?),
        ProfileFormat::Bpf => print!("{}", compile(&profile)?.disassemble()),
        ProfileFormat::Json => match Profile::builtin_text(name) {
            Some(text) => print!("{text}"),
            None => print!("{}", std::fs::read_to_string(name).with_context(|| name.to_owned())?),
        },
    }
    Ok(0)
}

fn check(name: &str, json: bool) -> anyhow::Result<u8> {
    let profile = find_profile(name)?;
    let findings = lint(&profile);
    let mut errors = 0;
    for finding in &findings {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        errors += usize::from(finding.severity == Severity::Error);
        if json {
            let line = serde_json::json!({
                "severity": severity, "message": finding.message, "fix": finding.fix,
            });
            println!("{line}");
        } else {
            println!("{severity}: {}\n  fix: {}", finding.message, finding.fix);
        }
    }
    if !json {
        println!("{name}: {errors} errors, {} warnings", findings.len() - errors);
    }
    Ok(u8::from(errors > 0))
}
