//! Fields as simulations have them, by which codecs and levels are chosen.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)] // what is rounded to float32, and counts of items

use scda::DataType;

/// Fields as the FLASH code has them, in blocks of 16^3 doubles (benches/peers/workload.c): waves, one without noise in single
/// precision, one with noise of 1/1000, and one with noise of 1/10000 in single precision that is constant in half of its
/// blocks.
pub fn flash(blocks_of_field: usize) -> Vec<u8> {
    let hash = |x: u64| {
        let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let mut data = Vec::new();
    for (field, block) in (0..9).flat_map(|field| (0..blocks_of_field).map(move |block| (field, block))) {
        let at = [block % 16, block / 16 % 16, block / 256];
        let wave = |axis: usize, i: usize| {
            (0.01 * (field + axis + 1) as f64 * (at[axis] * 16 + i) as f64 + axis as f64).sin()
        };
        let noise = [0.0, 1e-3, 1e-4][field % 3];
        for cell in 0..4096 {
            let random = (hash(((field as u64) << 52 ^ (block as u64) << 12) + cell as u64) >> 11) as f64;
            let value = 2.0
                + wave(0, cell % 16) * wave(1, cell / 16 % 16) * wave(2, cell / 256)
                + noise * random / (1_u64 << 53) as f64;
            let value = match field % 3 {
                2 if (at[0] + at[1] + at[2]) % 2 == 0 => 1.0,
                1 => value,
                _ => f64::from(value as f32),
            };
            data.extend(value.to_le_bytes());
        }
    }
    data
}

/// Fields as simulations have them: name, type, and their bytes.
pub fn fields(n: usize) -> Vec<(String, DataType, Vec<u8>)> {
    let mut state = 1_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let smooth: Vec<f64> =
        (0..n).map(|i| (i as f64 * 1e-3).sin() * (i as f64 * 1.7e-5).cos() + 2.0).collect();
    // Waves of all lengths, the shorter ones weaker: as a turbulent flow has them.
    let mut turbulent = vec![0.0; n];
    for octave in 0..16 {
        let (length, height) = (n >> octave, 0.6_f64.powi(octave));
        let heights: Vec<f64> = (0..=(n / length) + 1).map(|_| noise() * height).collect();
        for (i, value) in turbulent.iter_mut().enumerate() {
            let (cell, part) = (i / length, (i % length) as f64 / length as f64);
            *value += heights[cell] * (1.0 - part) + heights[cell + 1] * part;
        }
    }
    let shock: Vec<f64> = (0..n)
        .map(|i| if i % (n / 5) < n / 14 { 1.0 } else { 0.125 + 1e-3 * ((i / 500) as f64).sin() })
        .collect();
    let rounded = turbulent.iter().map(|value| (value * 1e4).round() / 1e4).collect();
    let floats = [("smooth", smooth), ("turbulent", turbulent), ("shock", shock), ("rounded", rounded)];
    let mut all = vec![("FLASH".to_owned(), DataType::Float64, flash(n >> 15))];
    for (name, values) in &floats {
        let single = values.iter().flat_map(|&value| (value as f32).to_le_bytes()).collect();
        all.push((format!("{name}, float32"), DataType::Float32, single));
        let double = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        all.push((format!("{name}, float64"), DataType::Float64, double));
    }
    let numbers = (0..n as i64).flat_map(|i| (i * 8 + i % 7 * (i % 3)).to_le_bytes()).collect();
    all.push(("indices, int64".into(), DataType::Int64, numbers));
    all
}
