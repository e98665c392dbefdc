//! The loader that an ELF program names (PT_INTERP).

use std::os::fd::BorrowedFd;

const MAGIC: &[u8] = b"\x7fELF\x02";
const PT_INTERP: u32 = 3;
/// Sizes of the 64-bit structures; the kernel accepts no others.
const PROGRAM_HEADER: usize = 56;
const MAX_HEADERS: usize = 1024;
const MAX_PATH: usize = 4096;

/// The path of the loader; `None` for a static program and for what is no 64-bit ELF.
pub(super) fn loader(head: &[u8], file: BorrowedFd<'_>) -> Option<Vec<u8>> {
    if !head.starts_with(MAGIC) {
        return None;
    }
    let offset = number(head.get(32..40)?);
    let count = number(head.get(56..58)?) as usize;
    let headers = read(file, offset, count.min(MAX_HEADERS) * PROGRAM_HEADER)?;
    let header = headers
        .chunks_exact(PROGRAM_HEADER)
        .find(|header| number(&header[..4]) == u64::from(PT_INTERP))?;
    let length = usize::try_from(number(&header[32..40])).ok()?.min(MAX_PATH);
    let mut path = read(file, number(&header[8..16]), length)?;
    path.truncate(path.iter().position(|byte| *byte == 0)?);
    Some(path)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn read(file: BorrowedFd<'_>, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let read = rustix::io::pread(file, &mut bytes[..], offset).ok()?;
    (read == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_dynamic_program_names_its_loader() {
        let mut file = File::open("/bin/sh").unwrap();
        let mut head = [0; 256];
        file.read_exact(&mut head).unwrap();
        let path = String::from_utf8(loader(&head, file.as_fd()).unwrap()).unwrap();
        assert!(path.contains("ld-"), "{path}");
    }

    #[test]
    fn what_is_no_elf_has_none() {
        let file = File::open("/etc/passwd").unwrap();
        assert_eq!(loader(b"root:x:0:0", file.as_fd()), None);
        assert_eq!(loader(MAGIC, file.as_fd()), None);
    }
}
