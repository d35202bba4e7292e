//! Maps of colours.

/// A colour: red, green, blue.
pub type Rgb = [u8; 3];

/// What stands for no number.
pub const NONE: Rgb = [0xc4, 0xc4, 0xc4];

/// A map of colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Map {
    /// Viridis: from dark blue by green to yellow, of even steps also for the colour-blind
    Viridis,
    /// From blue by white, the middle, to red
    Diverging,
    /// From black to white
    Gray,
}

/// Viridis, at even steps; what is between is mixed.
const VIRIDIS: [Rgb; 17] = [
    [68, 1, 84],
    [72, 21, 104],
    [72, 39, 119],
    [69, 56, 130],
    [63, 72, 137],
    [56, 88, 140],
    [49, 103, 142],
    [43, 117, 142],
    [38, 130, 142],
    [33, 145, 140],
    [31, 158, 137],
    [42, 172, 129],
    [68, 185, 115],
    [104, 198, 95],
    [149, 211, 68],
    [201, 222, 38],
    [253, 231, 37],
];
/// Blue, white, red: the map RdBu of ColorBrewer, turned.
const DIVERGING: [Rgb; 11] = [
    [5, 48, 97],
    [33, 102, 172],
    [67, 147, 195],
    [146, 197, 222],
    [209, 229, 240],
    [247, 247, 247],
    [253, 219, 199],
    [244, 165, 130],
    [214, 96, 77],
    [178, 24, 43],
    [103, 0, 31],
];

impl Map {
    /// The colour at a place from 0 to 1.
    pub fn at(self, place: f64) -> Rgb {
        if place.is_nan() {
            return NONE;
        }
        let colours: &[Rgb] = match self {
            Self::Viridis => &VIRIDIS,
            Self::Diverging => &DIVERGING,
            Self::Gray => &[[0, 0, 0], [255, 255, 255]],
        };
        let last = colours.len() - 1;
        let at = place.clamp(0.0, 1.0) * f64::from(u32::try_from(last).unwrap_or(0));
        let first = usize::try_from(super::tick::whole(at)).unwrap_or(0).min(last - 1);
        let part = at - f64::from(u32::try_from(first).unwrap_or(0));
        [0, 1, 2].map(|k| {
            let (a, b) = (f64::from(colours[first][k]), f64::from(colours[first + 1][k]));
            byte(a + (b - a) * part)
        })
    }
}

/// The nearest byte.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a number out of range is the last one in range
pub fn byte(number: f64) -> u8 {
    number.round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_begin_and_end_with_their_colours() {
        assert_eq!((Map::Viridis.at(0.0), Map::Viridis.at(1.0)), ([68, 1, 84], [253, 231, 37]));
        assert_eq!(Map::Diverging.at(0.5), [247; 3]);
        assert_eq!(
            (Map::Gray.at(-5.0), Map::Gray.at(0.5), Map::Gray.at(f64::INFINITY)),
            ([0; 3], [128; 3], [255; 3])
        );
        assert_eq!(Map::Viridis.at(f64::NAN), NONE);
    }
}
