//! Classic BPF instructions, as far as seccomp filters use them.

pub(crate) const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
pub(crate) const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
pub(crate) const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
pub(crate) const IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
pub(crate) const IF_GREATER: u16 = 0x25; // BPF_JMP | BPF_JGT | BPF_K
pub(crate) const IF_AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
pub(crate) const IF_ANY_BIT: u16 = 0x45; // BPF_JMP | BPF_JSET | BPF_K
pub(crate) const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// Offsets into `struct seccomp_data`.
pub(crate) const NUMBER: u32 = 0;
pub(crate) const ARCHITECTURE: u32 = 4;
pub(crate) const ARGUMENTS: u32 = 16;

/// The kernel's limit on a program (BPF_MAXINSNS).
pub(crate) const MAX_INSTRUCTIONS: usize = 4096;

/// One `struct sock_filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u16,
    pub(crate) on_true: u8,
    pub(crate) on_false: u8,
    pub(crate) k: u32,
}

impl Instruction {
    pub(crate) const fn new(code: u16, k: u32) -> Instruction {
        Instruction { code, on_true: 0, on_false: 0, k }
    }

    pub(crate) const fn branch(code: u16, k: u32, on_true: u8, on_false: u8) -> Instruction {
        Instruction { code, on_true, on_false, k }
    }

    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let ([c0, c1], [k0, k1, k2, k3]) = (self.code.to_ne_bytes(), self.k.to_ne_bytes());
        [c0, c1, self.on_true, self.on_false, k0, k1, k2, k3]
    }

    pub(crate) fn from_bytes(bytes: [u8; 8]) -> Instruction {
        let [c0, c1, on_true, on_false, k0, k1, k2, k3] = bytes;
        let code = u16::from_ne_bytes([c0, c1]);
        Instruction { code, on_true, on_false, k: u32::from_ne_bytes([k0, k1, k2, k3]) }
    }
}

/// The instructions of a program; a trailing fragment, which no exporter writes, is dropped.
pub(crate) fn instructions(program: &[u8]) -> impl Iterator<Item = Instruction> + '_ {
    program.as_chunks::<8>().0.iter().map(|bytes| Instruction::from_bytes(*bytes))
}
