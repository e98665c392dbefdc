//! Classic BPF, interpreted as the kernel does for seccomp.

pub(crate) const X86_64: u32 = 0xc000_003e;

/// What a program answered, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) value: u32,
    pub(crate) steps: usize,
    /// Whether an argument was looked at; the kernel caches allowed calls for which none is.
    pub(crate) saw_arguments: bool,
}

fn data(arch: u32, number: u32, args: &[u64; 6]) -> Vec<u8> {
    let mut data = Vec::with_capacity(64);
    data.extend(number.to_ne_bytes());
    data.extend(arch.to_ne_bytes());
    data.extend(0x7fff_dead_beef_u64.to_ne_bytes());
    args.iter().for_each(|arg| data.extend(arg.to_ne_bytes()));
    data
}

/// Runs a program on one call.
pub(crate) fn run(program: &[u8], arch: u32, number: u32, args: &[u64; 6]) -> Run {
    assert_eq!(program.len() % 8, 0, "a program is whole instructions");
    let data = data(arch, number, args);
    let (mut at, mut a, mut steps, mut saw_arguments) = (0_usize, 0_u32, 0, false);
    loop {
        let bytes = program.get(at * 8..at * 8 + 8).expect("the program ran past its end");
        let code = u16::from_ne_bytes([bytes[0], bytes[1]]);
        let (on_true, on_false) = (usize::from(bytes[2]), usize::from(bytes[3]));
        let k = u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        at += 1;
        steps += 1;
        let branch = |test: bool| if test { on_true } else { on_false };
        match code {
            0x20 => {
                let from = k as usize;
                assert!(from + 4 <= 64 && from.is_multiple_of(4), "load outside seccomp_data");
                saw_arguments |= from >= 16;
                a = u32::from_ne_bytes(data[from..from + 4].try_into().unwrap());
            }
            0x54 => a &= k,
            0x05 => at += k as usize,
            0x15 => at += branch(a == k),
            0x25 => at += branch(a > k),
            0x35 => at += branch(a >= k),
            0x45 => at += branch(a & k != 0),
            0x06 => return Run { value: k, steps, saw_arguments },
            other => panic!("instruction {other:#06x} is not known"),
        }
    }
}

#[test]
fn the_interpreter_counts_jumps_from_the_next_instruction() {
    let code: [(u16, u8, u8, u32); 4] =
        [(0x20, 0, 0, 0), (0x15, 1, 0, 7), (0x06, 0, 0, 1), (0x06, 0, 0, 2)];
    let program: Vec<u8> = code
        .iter()
        .flat_map(|(code, yes, no, k)| {
            [&code.to_ne_bytes()[..], &[*yes, *no], &k.to_ne_bytes()].concat()
        })
        .collect();
    assert_eq!(run(&program, X86_64, 7, &[0; 6]).value, 2);
    assert_eq!(run(&program, X86_64, 8, &[0; 6]).value, 1);
}
