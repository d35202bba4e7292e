//! Meshes: read once, and drawn from where they are looked at.

use super::http::{Answer, bytes_of};
use super::open::{Field, OpenFile};
use super::parameters::Parameters;
use crate::fail::{Fail, Result};
use crate::plot::axis::Scale;
use crate::plot::mesh::{Cut, FieldPlace, Mesh};
use crate::plot::raster::Camera;
use serde_json::json;

/// The most pixels of a side.
const MOST_PIXELS: usize = 4096;

fn cut(parameters: &Parameters) -> Result<Cut> {
    let Some(axis) = parameters.maybe::<usize>("axis")? else { return Ok(None) };
    match axis {
        0..3 => Ok(Some((axis, parameters.real("at")?))),
        _ => Err(Fail::Trouble(format!("parameter axis: found {axis}, expected 0, 1 or 2"))),
    }
}

/// The mesh and the numbers that a request means, which it leaves in the cache.
fn load<'a>(open: &'a mut OpenFile, parameters: &Parameters) -> Result<(&'a Mesh, &'a Field)> {
    let none = || Fail::Trouble("there is no mesh".to_owned());
    let (name, record) = (open.name(parameters)?, parameters.get("record")?);
    let place = FieldPlace::find(&mut open.reader, &name, record)?.ok_or_else(none)?;
    let cut = cut(parameters)?;
    let key = (place.group.clone(), place.end, format!("{cut:?}"));
    if open.cache.mesh.as_ref().is_none_or(|(of, _)| *of != key) {
        open.cache.field = None;
        // Both need not be in memory.
        open.cache.mesh = None;
        let mesh = place.mesh(&mut open.reader, cut)?;
        open.cache.mesh = Some((key, mesh));
    }
    let (_, mesh) = open.cache.mesh.as_ref().ok_or_else(none)?;
    let key = (place.clone(), parameters.text("component").map(str::to_owned));
    if open.cache.field.as_ref().is_none_or(|(of, _)| *of != key) {
        let field = place.numbers(&mut open.reader, mesh, key.1.as_deref())?;
        open.cache.field = Some((key, field));
    }
    let (_, field) = open.cache.field.as_ref().ok_or_else(none)?;
    Ok((mesh, field))
}

/// What there is to know of a mesh before it is drawn.
pub fn mesh(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let (mesh, (numbers, label)) = load(open, parameters)?;
    let scale = Scale::of(numbers, false, [None; 2]).map_err(Fail::Trouble)?;
    let least = numbers.iter().copied().filter(|number| *number > 0.0).fold(f64::INFINITY, f64::min);
    Ok(Answer::json(&json!({
        "cells": mesh.cells,
        "kind": mesh.kind.words(),
        "cell": mesh.kind.cell(),
        "label": label,
        "flat": mesh.is_flat,
        "axes": mesh.axes,
        "bounds": mesh.bounds,
        "from": scale.from,
        "to": scale.to,
        "positive": Some(least).filter(|least| least.is_finite()),
    })))
}

/// A picture of a mesh: the number at each pixel, the cell plus one, and how bright it is.
pub fn raster(open: &mut OpenFile, parameters: &Parameters) -> Result<Answer> {
    let (mesh, (numbers, _)) = load(open, parameters)?;
    let side = |key: &str| Ok::<_, Fail>(parameters.get::<usize>(key)?.clamp(1, MOST_PIXELS));
    let size = [side("width")?, side("height")?];
    let mut camera = Camera {
        turn: parameters.real("turn")?,
        tilt: parameters.real("tilt")?,
        centre: [0.0; 2],
        scale: 1.0,
    };
    match parameters.text("scale") {
        Some(_) => {
            camera.centre = [parameters.real("x")?, parameters.real("y")?];
            camera.scale = parameters.real("scale")?;
        }
        None => camera = camera.fit(mesh.bounds, size, 1.05),
    }
    let seen = camera.draw(&mesh.faces, size);
    let number = |&cell: &u32| (cell as usize).checked_sub(1).and_then(|cell| numbers.get(cell)).copied();
    let seen_numbers: Vec<_> = seen.cells.iter().map(|cell| number(cell).unwrap_or(f64::NAN)).collect();
    let cells: Vec<u8> = seen.cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    let head = json!({"width": size[0], "height": size[1], "x": camera.centre[0], "y": camera.centre[1], "scale": camera.scale});
    Ok(Answer::binary(&head, &[&bytes_of(&seen_numbers), &cells, &seen.shades]))
}
