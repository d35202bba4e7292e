//! Decoder of BloscLZ, Blosc's own compressor.
//!
//! A stream is a sequence of instructions, each beginning with a control byte. If that is at most 31, it is
//! followed by literals, one more than its value. Otherwise its upper three bits are the length of a match,
//! and its lower five bits with the next byte are the distance back to the match. The first control byte uses
//! only its lower five bits.
//! lower five bits.

/// The largest distance of a match, unless 16 further bits extend it.
const NEAR: usize = 8191;

/// Decodes a stream into `out`, and returns the number of decoded bytes. The error is what was found instead.
pub fn decode(stream: &[u8], out: &mut [u8]) -> Result<usize, String> {
    let (mut input, mut written) = (stream, 0);
    let next = |input: &mut &[u8]| {
        let (&byte, rest) = input.split_first()?;
        *input = rest;
        Some(usize::from(byte))
    };
    let cut = || "BloscLZ: found the end of the stream within an instruction".to_owned();
    let too_long = || "BloscLZ: found more bytes than the block holds".to_owned();
    let Some(first) = next(&mut input) else { return Ok(0) };
    let mut control = first & 31;
    loop {
        if control < 32 {
            let n = control + 1;
            let (bytes, rest) = input.split_at_checked(n).ok_or_else(cut)?;
            let to = out.get_mut(written..written + n).ok_or_else(too_long)?;
            to.copy_from_slice(bytes);
            (input, written) = (rest, written + n);
        } else {
            let mut length = (control >> 5) + 2;
            if control >> 5 == 7 {
                loop {
                    let more = next(&mut input).ok_or_else(cut)?;
                    length += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut distance = (control & 31) << 8 | next(&mut input).ok_or_else(cut)?;
            if distance == NEAR {
                let high = next(&mut input).ok_or_else(cut)?;
                distance = NEAR + (high << 8 | next(&mut input).ok_or_else(cut)?);
            }
            let from =
                written.checked_sub(distance + 1).ok_or("BloscLZ: found a match before the beginning")?;
            if length > out.len() - written {
                return Err(too_long());
            }
            copy_match(out, from, written, length);
            written += length;
        }
        match next(&mut input) {
            Some(byte) => control = byte,
            None => return Ok(written),
        }
    }
}

/// Copies bytes; the source may overlap the destination.
fn copy_match(out: &mut [u8], from: usize, to: usize, length: usize) {
    if to - from >= length {
        out.copy_within(from..from + length, to);
    } else {
        for i in 0..length {
            out[to + i] = out[from + i];
        }
    }
}
