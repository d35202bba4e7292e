//! Numbers of 16 hexadecimal digits, eight of which are handled at once.

/// Hexadecimal digits of a number.
pub const DIGITS: usize = 16;

/// This byte, eight times.
const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The digits of a number, the highest first: `0` to `9`, `a` to `f`.
#[must_use]
pub fn digits(value: u64) -> [u8; DIGITS] {
    let mut text = [0; DIGITS];
    for (half, text) in [value >> 32, value & 0xffff_ffff].into_iter().zip(text.as_chunks_mut().0) {
        let mut each = (half | half << 16) & 0x0000_ffff_0000_ffff;
        each = (each | each << 8) & 0x00ff_00ff_00ff_00ff;
        each = (each | each << 4) & eight(0x0f);
        let are_letters = (each + eight(6)) >> 4 & eight(1);
        *text = (each + eight(b'0') + are_letters * u64::from(b'a' - b'0' - 10)).to_be_bytes();
    }
    text
}

/// The number with these digits.
#[must_use]
pub fn parse(text: &[u8; DIGITS]) -> Option<u64> {
    let value = text.as_chunks().0.iter().fold(0, |value, half| {
        let half = u64::from_be_bytes(*half);
        let mut each = (half & eight(0x0f)) + (half >> 6 & eight(1)) * 9;
        each = (each | each >> 4) & 0x00ff_00ff_00ff_00ff;
        each = (each | each >> 8) & 0x0000_ffff_0000_ffff;
        value << 32 | (each | each >> 16) & 0xffff_ffff
    });
    // Of anything else, the number is another one.
    (digits(value) == *text).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_byte_is_a_digit_or_none() {
        for place in 0..DIGITS {
            for byte in 0..=u8::MAX {
                let mut text = *b"0123456789abcdef";
                text[place] = byte;
                let plain = std::str::from_utf8(&text).ok().filter(|text| text.bytes().all(is_digit));
                let expected = plain.map(|text| u64::from_str_radix(text, 16).unwrap());
                assert_eq!(parse(&text), expected, "{}", text.escape_ascii());
            }
        }
    }

    fn is_digit(byte: u8) -> bool {
        byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
    }

    proptest! {
        #[test]
        fn numbers_come_back(value in any::<u64>(), shift in 0..64) {
            let value = value >> shift;
            prop_assert_eq!(digits(value).to_vec(), format!("{value:016x}").into_bytes());
            prop_assert_eq!(parse(&digits(value)), Some(value));
        }
    }
}
