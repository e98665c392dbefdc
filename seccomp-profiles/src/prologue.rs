//! The exceptions by argument, as BPF that runs before libseccomp's program.
//!
//! A binary search on the number finds a call's exceptions; any other call falls through after a few
//! jumps without loading an argument, so the kernel can still cache it as always allowed.

use crate::bpf::{
    AND, ARCHITECTURE, ARGUMENTS, IF_AT_LEAST, IF_EQUAL, IF_GREATER, Instruction, JUMP, LOAD,
    NUMBER, RETURN,
};
use crate::error::CompileError;
use crate::meaning::{Exception, Meaning};
use crate::model::{Argument, Comparison};

/// An instruction of the prologue before its distance to the end is known.
#[derive(Clone, Copy)]
enum Item {
    Plain(Instruction),
    /// Leave the prologue: libseccomp's program decides.
    Leave,
}

/// Where a test inside one exception goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// The next instruction.
    Next,
    /// The end of this condition: it holds.
    Holds,
    /// The end of this exception: it does not apply.
    Fails,
}

struct Test {
    instruction: Instruction,
    on_true: Goal,
    on_false: Goal,
}

/// The prologue for calls sorted by number; empty when no call has exceptions.
pub(crate) fn assemble(
    architecture: u32,
    calls: &[(u32, &str, &Meaning<'_>)],
) -> Result<Vec<Instruction>, CompileError> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let mut items = vec![
        Item::Plain(Instruction::new(LOAD, ARCHITECTURE)),
        // A foreign machine's numbers mean other calls; libseccomp's program kills it.
        Item::Plain(Instruction::branch(IF_EQUAL, architecture, 1, 0)),
        Item::Leave,
        Item::Plain(Instruction::new(LOAD, NUMBER)),
    ];
    items.extend(search(calls)?);
    let end = items.len();
    let resolved = items.iter().enumerate().map(|(at, item)| match item {
        Item::Plain(instruction) => *instruction,
        Item::Leave => jump(end - at - 1),
    });
    Ok(resolved.collect())
}

fn search(calls: &[(u32, &str, &Meaning<'_>)]) -> Result<Vec<Item>, CompileError> {
    if let [(number, name, meaning)] = calls {
        let mut items =
            vec![Item::Plain(Instruction::branch(IF_EQUAL, *number, 1, 0)), Item::Leave];
        for exception in &meaning.exceptions {
            items.extend(block(name, exception)?.into_iter().map(Item::Plain));
        }
        items.push(Item::Leave);
        return Ok(items);
    }
    let (low, high) = calls.split_at(calls.len() / 2);
    let Some((pivot, _, _)) = high.first() else { return Ok(Vec::new()) };
    let (low, high) = (search(low)?, search(high)?);
    // Conditional jumps reach 255 instructions; the plain jump behind this one reaches any.
    let mut items = vec![
        Item::Plain(Instruction::branch(IF_AT_LEAST, *pivot, 0, 1)),
        Item::Plain(jump(low.len())),
    ];
    items.extend(low);
    items.extend(high);
    Ok(items)
}

fn jump(distance: usize) -> Instruction {
    // A program too long for the number is refused by its length before it could be used.
    Instruction::new(JUMP, u32::try_from(distance).unwrap_or(u32::MAX))
}

/// Tests every condition of one exception; returns its outcome, or falls out at the end.
fn block(name: &str, exception: &Exception<'_>) -> Result<Vec<Instruction>, CompileError> {
    check(name, exception.args)?;
    let conditions: Vec<Vec<Test>> = exception.args.iter().map(tests).collect();
    let length: usize = conditions.iter().map(Vec::len).sum();
    let mut code = Vec::with_capacity(length + 1);
    for condition in conditions {
        let holds = code.len() + condition.len();
        for test in condition {
            let after = code.len() + 1;
            // At most six conditions of at most six instructions: always within a byte.
            let distance = |goal| match goal {
                Goal::Next => 0,
                Goal::Holds => (holds - after) as u8,
                Goal::Fails => (length + 1 - after) as u8,
            };
            let Instruction { code: operation, k, .. } = test.instruction;
            let (on_true, on_false) = (distance(test.on_true), distance(test.on_false));
            code.push(Instruction::branch(operation, k, on_true, on_false));
        }
    }
    code.push(Instruction::new(RETURN, exception.outcome.code()));
    Ok(code)
}

fn check(name: &str, args: &[Argument]) -> Result<(), CompileError> {
    let name = || name.to_owned();
    for (position, argument) in args.iter().enumerate() {
        let Argument { index, value, value_two, op } = *argument;
        if index > 5 {
            return Err(CompileError::ArgumentIndex { name: name(), index });
        }
        if args.iter().take(position).any(|earlier| earlier.index == index) {
            return Err(CompileError::RepeatedArgument { name: name(), index });
        }
        if op == Comparison::MaskedEqual && value_two & !value != 0 {
            return Err(CompileError::NeverMatches { name: name(), mask: value, datum: value_two });
        }
    }
    Ok(())
}

fn tests(argument: &Argument) -> Vec<Test> {
    use Goal::{Fails, Holds, Next};
    let (high, low) = halves(argument.value);
    let at = |half| load(argument.index, half);
    let ordered = |on_greater, on_less, last, on_true, on_false| {
        vec![
            at(Half::High),
            test(IF_GREATER, high, on_greater, Next),
            test(IF_EQUAL, high, Next, on_less),
            at(Half::Low),
            test(last, low, on_true, on_false),
        ]
    };
    match argument.op {
        Comparison::Equal => masked(argument.index, u64::MAX, argument.value),
        Comparison::MaskedEqual => masked(argument.index, argument.value, argument.value_two),
        Comparison::NotEqual => vec![
            at(Half::High),
            test(IF_EQUAL, high, Next, Holds),
            at(Half::Low),
            test(IF_EQUAL, low, Fails, Next),
        ],
        Comparison::GreaterOrEqual => ordered(Holds, Fails, IF_AT_LEAST, Next, Fails),
        Comparison::Greater => ordered(Holds, Fails, IF_GREATER, Next, Fails),
        Comparison::Less => ordered(Fails, Holds, IF_AT_LEAST, Fails, Next),
        Comparison::LessOrEqual => ordered(Fails, Holds, IF_GREATER, Fails, Next),
    }
}

/// Equality under a mask; a half that the mask removes is not loaded at all.
fn masked(index: u32, mask: u64, datum: u64) -> Vec<Test> {
    let ((mask_high, mask_low), (high, low)) = (halves(mask), halves(datum));
    let mut code = Vec::new();
    for (half, mask, datum) in [(Half::Low, mask_low, low), (Half::High, mask_high, high)] {
        if mask == 0 {
            continue;
        }
        code.push(load(index, half));
        if mask != u32::MAX {
            code.push(test(AND, mask, Goal::Next, Goal::Next));
        }
        code.push(test(IF_EQUAL, datum, Goal::Next, Goal::Fails));
    }
    code
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Low,
    High,
}

fn load(index: u32, half: Half) -> Test {
    // Registers are stored in the machine's own byte order.
    let upper = (half == Half::High) == cfg!(target_endian = "little");
    let offset = ARGUMENTS + 8 * index + if upper { 4 } else { 0 };
    test(LOAD, offset, Goal::Next, Goal::Next)
}

fn test(code: u16, k: u32, on_true: Goal, on_false: Goal) -> Test {
    Test { instruction: Instruction::new(code, k), on_true, on_false }
}

fn halves(value: u64) -> (u32, u32) {
    ((value >> 32) as u32, value as u32)
}
