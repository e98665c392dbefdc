//! Standard base64 with padding, decoded strictly.

/// Decodes `text`; `None` when a character, the padding or the unused bits are wrong.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let padding = bytes.iter().rev().take_while(|b| **b == b'=').count();
    if padding > 2 {
        return None;
    }
    let digits = &bytes[..bytes.len() - padding];
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for group in digits.chunks(4) {
        let mut word = 0u32;
        for digit in group {
            word = word << 6 | value(*digit)?;
        }
        // A short group leaves bits that belong to no byte; they must be zero.
        let (bytes, spare) = match group.len() {
            4 => (3, 0),
            3 => (2, 2),
            2 => (1, 4),
            _ => return None,
        };
        if word & ((1 << spare) - 1) != 0 {
            return None;
        }
        out.extend_from_slice(&(word >> spare).to_be_bytes()[4 - bytes..]);
    }
    Some(out)
}

fn value(digit: u8) -> Option<u32> {
    let index = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(index))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn rfc_4648_vectors() {
        for (text, plain) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).unwrap(), plain.as_bytes(), "{text}");
        }
        assert_eq!(decode("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "Z", "Zg", "Zg=", "Zg===", "====", "Z===", "Zh==", "Zm9=", "Zm 9", "Z=g=", "-_-_",
            "Zm9v\n",
        ] {
            assert_eq!(decode(bad), None, "{bad:?}");
        }
    }
}
