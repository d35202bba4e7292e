//! Meshes: read once, and drawn from where they are looked at.

use super::api::{Open, bytes_of};
use super::http::Answer;
use super::parameters::Parameters;
use crate::fail::{Fail, Result};
use crate::plot::axis::Scale;
use crate::plot::mesh::{self, Cut, Kind, Mesh};
use crate::plot::raster::Camera;
use crate::plot::subject;
use scda::internals;
use serde_json::json;

/// The most pixels of a side.
const MOST_PIXELS: usize = 4096;

/// The last mesh and the last field.
#[derive(Default)]
pub struct Cache {
    mesh: Option<(MeshKey, Mesh)>,
    field: Option<(FieldKey, Vec<f64>)>,
}

/// A group, the record of what is drawn, and the plane that cuts it.
type MeshKey = (String, u64, String);
type FieldKey = (String, u64, Option<usize>);

fn cut(parameters: &Parameters) -> Result<Cut> {
    let Some(axis) = parameters.maybe::<usize>("axis")? else { return Ok(None) };
    match axis {
        0..3 => Ok(Some((axis, parameters.real("at")?))),
        _ => Err(Fail::Trouble("parameter axis: expected 0, 1 or 2".to_owned())),
    }
}

/// The group, its kind, and the end of the step.
fn place(open: &mut Open, name: &str, record: u64) -> Result<(String, Kind, u64)> {
    if let Some((group, kind)) = subject::mesh_of_field(&mut open.reader, name)? {
        let all = open.reader.find_all(internals::stored_name(name).as_bytes())?;
        if let Some(&section) = all.get(internals::to_usize(record)) {
            let end = mesh::end_of_step(&mut open.reader, &group, section)?;
            return Ok((group, kind, end));
        }
    }
    match open.reader.find_group(name)?.as_deref().and_then(mesh::kind) {
        Some(kind) => Ok((name.to_owned(), kind, u64::MAX)),
        None => Err(Fail::Trouble("found no mesh".to_owned())),
    }
}

/// Puts the mesh and the numbers that a request means into the cache.
fn load(open: &mut Open, parameters: &Parameters) -> Result<()> {
    let name = open.name(parameters)?;
    let record: u64 = parameters.get("record")?;
    let (group, kind, end) = place(open, &name, record)?;
    let cut = cut(parameters)?;
    let key = (group.clone(), end, format!("{cut:?}"));
    if open.cache.mesh.as_ref().is_none_or(|(of, _)| *of != key) {
        open.cache.field = None;
        // Both need not be in memory.
        open.cache.mesh = None;
        let mesh = Mesh::load(&mut open.reader, &group, kind, end, cut)?;
        open.cache.mesh = Some((key, mesh));
    }
    let component = parameters.maybe::<usize>("component")?;
    let key = (name.clone(), record, component);
    if open.cache.field.as_ref().is_none_or(|(of, _)| *of != key)
        && let Some((_, mesh)) = &open.cache.mesh
    {
        let numbers = if name == group {
            if mesh.levels.is_empty() { vec![0.0; mesh.cells] } else { mesh.levels.clone() }
        } else {
            let (dataset, _) = subject::dataset(&mut open.reader, &name, record)?;
            mesh.of_field(&mut open.reader, &dataset, component)?
        };
        open.cache.field = Some((key, numbers));
    }
    Ok(())
}

/// What there is to know of a mesh before it is drawn.
pub fn mesh(open: &mut Open, parameters: &Parameters) -> Result<Answer> {
    load(open, parameters)?;
    let (Some((_, mesh)), Some((_, numbers))) = (&open.cache.mesh, &open.cache.field) else {
        return Err(Fail::Trouble("found no mesh".to_owned()));
    };
    let scale = Scale::of(numbers, false, [None; 2]).map_err(Fail::Trouble)?;
    let least = numbers.iter().copied().filter(|number| *number > 0.0).fold(f64::INFINITY, f64::min);
    let kind = match mesh.kind {
        Kind::Forest(dimension) => format!("forest in {dimension}D"),
        Kind::Cells => "cells".to_owned(),
    };
    Ok(Answer::json(&json!({
        "cells": mesh.cells,
        "kind": kind,
        "flat": mesh.is_flat,
        "bounds": mesh.bounds,
        "from": scale.from,
        "to": scale.to,
        "positive": Some(least).filter(|least| least.is_finite()),
    })))
}

/// A picture of a mesh: the number at each pixel, the cell plus one, and how bright it is.
pub fn raster(open: &mut Open, parameters: &Parameters) -> Result<Answer> {
    load(open, parameters)?;
    let (Some((_, mesh)), Some((_, numbers))) = (&open.cache.mesh, &open.cache.field) else {
        return Err(Fail::Trouble("found no mesh".to_owned()));
    };
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
