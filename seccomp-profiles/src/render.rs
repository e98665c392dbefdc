//! Filters and profiles for people to read.

use std::fmt::Write;

use crate::bpf::{
    AND, ARCHITECTURE, ARGUMENTS, IF_ANY_BIT, IF_AT_LEAST, IF_EQUAL, IF_GREATER, Instruction, JUMP,
    LOAD, NUMBER, RETURN,
};
use crate::compile::{compile, context, exported, numbered};
use crate::error::CompileError;
use crate::meaning::{Exception, Outcome};
use crate::model::{Argument, Comparison, Profile};
use crate::syscalls;

/// libseccomp's pseudo filter code of a profile, after the exceptions that run before it.
///
/// # Errors
/// As [`crate::compile`].
pub fn pfc(profile: &Profile) -> Result<String, CompileError> {
    // What does not compile must not look as if it did.
    compile(profile)?;
    let calls = numbered(profile)?;
    let context = context(profile, &calls)?;
    let rest = exported(|fd| context.export_pfc(fd))?;
    let mut text = String::from("#\n# exceptions by argument, which run before all below\n#\n");
    for (number, (name, meaning)) in &calls {
        for exception in &meaning.exceptions {
            text.push_str(&sentence(*number, name, exception));
        }
    }
    text.push_str(&String::from_utf8_lossy(&rest));
    Ok(text)
}

fn sentence(number: u32, name: &str, exception: &Exception<'_>) -> String {
    let mut line = format!("if ($syscall == {name} [{number}]");
    for argument in exception.args {
        line.push_str(" && ");
        line.push_str(&condition(argument));
    }
    format!("{line}) action {};\n", exception.outcome)
}

fn condition(argument: &Argument) -> String {
    let Argument { index, value, value_two, op } = *argument;
    match op {
        Comparison::MaskedEqual => format!("($a{index} & {value:#x}) == {value_two:#x}"),
        _ => format!("$a{index} {} {value:#x}", op.sign()),
    }
}

/// What the accumulator holds when an instruction is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Unreached,
    Field(u32),
    Mixed,
}

impl Held {
    fn join(self, other: Held) -> Held {
        match (self, other) {
            (Held::Unreached, held) => held,
            (held, other) if held == other => held,
            _ => Held::Mixed,
        }
    }
}

/// One numbered line for each instruction.
pub(crate) fn disassemble(code: &[Instruction]) -> String {
    let mut text = String::new();
    for ((at, instruction), held) in code.iter().enumerate().zip(held(code)) {
        let line = line(at, *instruction, held);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{at:04}  {line}");
    }
    text
}

/// Jumps only go forward, so one pass knows what every instruction compares.
fn held(code: &[Instruction]) -> Vec<Held> {
    let mut held = vec![Held::Unreached; code.len()];
    for (at, instruction) in code.iter().enumerate() {
        let now = held.get(at).copied().unwrap_or(Held::Unreached);
        let after = match instruction.code {
            LOAD => Held::Field(instruction.k),
            AND => Held::Mixed,
            _ => now,
        };
        for target in targets(at, *instruction) {
            if let Some(slot) = held.get_mut(target) {
                *slot = slot.join(after);
            }
        }
    }
    held
}

fn targets(at: usize, instruction: Instruction) -> Vec<usize> {
    let Instruction { code, on_true, on_false, k } = instruction;
    match code {
        RETURN => Vec::new(),
        JUMP => vec![far(at, k)],
        IF_EQUAL | IF_GREATER | IF_AT_LEAST | IF_ANY_BIT => {
            vec![at + 1 + usize::from(on_true), at + 1 + usize::from(on_false)]
        }
        _ => vec![at + 1],
    }
}

fn far(at: usize, distance: u32) -> usize {
    usize::try_from(distance).map_or(usize::MAX, |distance| (at + 1).saturating_add(distance))
}

fn line(at: usize, instruction: Instruction, held: Held) -> String {
    let Instruction { code, on_true, on_false, k } = instruction;
    let sign = match code {
        LOAD => return format!("ld   {}", field(k)),
        AND => return format!("and  {k:#x}"),
        JUMP => return format!("jmp  {:04}", far(at, k)),
        RETURN => return format!("ret  {}", outcome(k)),
        IF_EQUAL => "==",
        IF_GREATER => "> ",
        IF_AT_LEAST => ">=",
        IF_ANY_BIT => "& ",
        _ => return format!("?    code {code:#06x} jt {on_true} jf {on_false} k {k:#x}"),
    };
    let (yes, no) = (at + 1 + usize::from(on_true), at + 1 + usize::from(on_false));
    let test = match held {
        Held::Field(NUMBER) => format!("if   {sign} {k:<10}  then {yes:04} else {no:04}"),
        _ => format!("if   {sign} {k:<#10x}  then {yes:04} else {no:04}"),
    };
    match syscalls::name(k).filter(|_| held == Held::Field(NUMBER) && code == IF_EQUAL) {
        Some(name) => format!("{test}  ; {name}"),
        None => test,
    }
}

fn field(offset: u32) -> String {
    match offset {
        NUMBER => "number".to_owned(),
        ARCHITECTURE => "architecture".to_owned(),
        ARGUMENTS..64 => {
            let upper = offset.is_multiple_of(8) != cfg!(target_endian = "little");
            let half = if upper { "high" } else { "low" };
            format!("argument {} ({half})", (offset - ARGUMENTS) / 8)
        }
        _ => format!("[{offset}]"),
    }
}

fn outcome(code: u32) -> String {
    Outcome::from_code(code).map_or_else(|| format!("{code:#x}"), |outcome| outcome.to_string())
}
