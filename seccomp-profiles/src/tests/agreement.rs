//! The linter judges by `meaning`, the kernel by the program: both must say the same.

#[path = "../../tests/suite/interpreter.rs"]
mod interpreter;

use interpreter::{X86_64, run};

use crate::compile::{Filter, compile, numbered};
use crate::doors;
use crate::meaning::{Meaning, Outcome, meanings};
use crate::model::Profile;
use crate::syscalls;

const SAMPLES: usize = 2_000;

fn builtin() -> Vec<(Profile, Filter)> {
    let profiles = Profile::builtin_names().iter().map(|name| Profile::builtin(name).unwrap());
    profiles.map(|profile| (profile.clone(), compile(&profile).unwrap())).collect()
}

fn said(profile: &Profile, meaning: Option<&Meaning<'_>>, args: &[u64; 6]) -> u32 {
    let outcome = meaning.and_then(|meaning| meaning.outcome(args));
    outcome.unwrap_or_else(|| Outcome::of_default(profile)).code()
}

/// Values at which some exception of the call changes its mind, plain and disguised.
fn pool(meaning: &Meaning<'_>) -> Vec<u64> {
    let args = meaning.exceptions.iter().flat_map(|exception| exception.args);
    let known = args.flat_map(|argument| [argument.value, argument.value_two]).chain([0, 1]);
    let near = known.flat_map(|value| [value, value ^ 1, value | 1 << 40, !value]);
    near.collect()
}

#[test]
fn the_program_and_the_meaning_agree_on_every_number() {
    for (profile, filter) in builtin() {
        let calls = numbered(&profile).unwrap();
        let mut state = 1_u64;
        for number in 0..600 {
            let meaning = calls.get(&number).map(|(_, meaning)| meaning);
            let excepted = meaning.filter(|meaning| !meaning.exceptions.is_empty());
            let pool = excepted.map_or_else(|| vec![0, u64::MAX], pool);
            for _ in 0..if excepted.is_some() { SAMPLES } else { 4 } {
                let args = [(); 6].map(|()| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    pool[(state >> 33) as usize % pool.len()]
                });
                let found = run(filter.program(), X86_64, number, &args);
                let want = said(&profile, meaning, &args);
                assert_eq!(found.value, want, "number {number} {args:x?} after {}", found.steps);
                assert!(excepted.is_some() || !found.saw_arguments);
            }
        }
    }
}

#[test]
fn every_door_the_linter_knows_is_closed_in_the_program() {
    for (profile, filter) in builtin() {
        let calls = meanings(&profile);
        for door in doors::all() {
            let number = syscalls::number(door.call).unwrap().unwrap();
            for args in door.attempts() {
                let found = run(filter.program(), X86_64, number, &args).value;
                assert_eq!(found & 0xffff_0000, 0x0005_0000, "{} {args:x?}", door.call);
                assert_eq!(found, said(&profile, calls.get(door.call), &args));
            }
        }
    }
}

#[test]
fn names_and_numbers_are_each_others_reverse() {
    for number in 0..600 {
        let Some(name) = syscalls::name(number) else { continue };
        assert_eq!(syscalls::number(&name).unwrap(), Some(number), "{name}");
    }
}
