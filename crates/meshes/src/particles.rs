//! Particles in the cells of a mesh, or without one: docs/particles.md.

use crate::notes::{MeshNotes, notes_of, read_notes};
use crate::ranks::{are_numbered, numbering, spread};
use crate::read::{Numbers, Source, open as open_part};
use crate::steps::{
    find_field as find_field_of_step, group as attributes_of, need, open, read_rows, sections,
};
use crate::write::{Columns, Rows, bytes_of, field as field_in_group, write_group};
use scda::{Collective, Dataset, DatasetHandle, Error, ErrorKind, IndexBox, Reader, Result, Writer};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::meshes::particles::{MOST, check_cell, check_count};
use scda_format::meshes::parts::OFFSETS;
use scda_format::meshes::{Convention, MeshError, OF_MESH, attributes, part_name};

const PARTICLES: Convention = Convention::Particles;

/// The group of particles if no name is given.
pub const GROUP: &str = "particles";

/// A rank's part of the cells whose particles are written.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnCells<'a> {
    /// For each cell of this rank, the number of its particles, which follow those of the previous cell in
    /// memory.
    pub counts: &'a [i64],
    /// The number of each cell among those of all ranks; `None` if they are consecutive, in the order of the
    /// ranks. Set on all ranks or on none, except that a rank without cells need not set it.
    pub number: Option<&'a [u64]>,
    /// If no rank has cells: the number of particles of this rank.
    pub without_cells: u64,
}

/// A rank's part of the particles of all ranks.
#[derive(Clone, Debug, Default)]
pub struct Particles {
    /// The number of particles of this rank.
    pub n: u64,
    /// The number of particles of all ranks.
    pub particles: u64,
    /// The number of cells of all ranks; 1 if there are none.
    pub all_cells: u64,
    /// The number of this rank's first particle, unless cells have numbers.
    pub first: u64,
    /// The number of this rank's first cell, unless cells have numbers.
    pub first_cell: u64,
    /// After reading: the number of particles of each cell of this rank.
    pub counts: Vec<i64>,
    /// If cells have numbers: the first particle and the number of particles of each cell of this rank.
    begins: Option<Vec<(u64, u64)>>,
}

/// Checks the offsets of the particles of each cell, and returns the numbers of cells and particles.
///
/// # Errors
/// If the offsets are invalid, and those of the source.
pub fn check<S: Source>(source: &mut S) -> Result<(u64, u64), S::Error> {
    let offsets = open_part(source, &OFFSETS, 0, None)?;
    let numbers = offsets.shape[0];
    source.bound(&offsets)?;
    source.hold(check_count(numbers))?;
    let mut offsets = Numbers::new(offsets);
    let mut last = offsets.next(source)?;
    for cell in 0..numbers - 1 {
        let end = offsets.next(source)?;
        source.hold(check_cell(cell, last, end, None))?;
        last = end;
    }
    Ok((numbers - 1, last.unsigned_abs()))
}

/// Writes the number of particles of each cell, and the first time, also the attributes of the group. Their
/// fields follow. `mesh` is the group of the mesh to which the cells belong.
///
/// If cells have numbers, all ranks receive the counts of all cells.
///
/// # Errors
/// `Argument` for wrong counts or numbers; `Usage` if the last mesh in the group `mesh` has another number of
/// cells; `Range`; `Memory`; and those of [`Writer::dataset`].
pub fn write(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    mesh: Option<&str>,
    cells: Result<OwnCells<'_>>,
) -> Result<Particles> {
    let cells = part_name(group, OFFSETS.name)
        .and(mesh.map_or(Ok(String::new()), |of| part_name(of, "boxes")))
        .and(cells);
    let cells = cells.and_then(|cells| Ok((cells, sum(cells.counts)?)));
    let (cells, own) = file.agree_on(cells)?;
    let [some, none] = numbering(cells.number.is_some(), cells.counts.len());
    let [of_cells, of_particles, without, some, none] =
        spread(file, [cells.counts.len() as u64, own, cells.without_cells, some, none])?;
    let all = if of_cells.total > 0 { of_particles } else { without };
    if all.total > MOST {
        let words = format!("{} particles on all ranks: more than 2^60", all.total);
        return file.agree_on(Err(Error::range(words)));
    }
    let is_numbered = are_numbered(file, [some, none], "cells")?;
    let all_cells = of_cells.total.max(1);
    check_mesh(file, notes, mesh, all_cells)?;
    let mut particles = Particles {
        n: all.count,
        particles: all.total,
        all_cells,
        first: all.offset,
        first_cell: of_cells.offset,
        counts: Vec::new(),
        begins: None,
    };
    let (first, offsets) = if is_numbered {
        let numbers = cells.number.unwrap_or_default();
        let own = pairs(numbers, cells.counts);
        let gathered = file.gather_all(own.as_deref().map_err(Error::again))?;
        let offsets = by_number(&gathered, all_cells);
        let offsets =
            offsets.and_then(|all| begins(&mut particles, numbers, cells.counts, &all).map(|()| all));
        let offsets = file.agree_on(offsets)?;
        (0, if file.rank() == 0 { offsets } else { Vec::new() })
    } else {
        let is_last = file.rank() + 1 == file.size();
        let offsets = offsets_of(&particles, cells.counts, of_cells.total == 0, is_last);
        (particles.first_cell, file.agree_on(offsets)?)
    };
    let of_mesh = mesh.and_then(|of| notes.get(of)?.mesh);
    let state = notes_of(notes, group);
    read_notes(file, state, group, PARTICLES)?;
    let of = mesh.map_or_else(String::new, |of| format!(",\"{OF_MESH}\":{}", serde_json::Value::from(of)));
    write_group(file, state, group, &format!("{{\"{}\":1{of}}}", PARTICLES.attribute()))?;
    let mut columns = Columns::new(group, 0, file.rank() == 0);
    let rows = Rows::From(first, offsets.len() as u64);
    let added = bytes_of(offsets.iter().map(|offset| offset.to_ne_bytes())).and_then(|bytes| {
        let dataset = columns.push(&OFFSETS, all_cells + 1, rows, bytes)?;
        if let Some((_, checksum)) = of_mesh {
            dataset.attributes = attributes::with_mesh("{}", checksum);
        }
        Ok(())
    });
    file.agree_on(added)?;
    columns.write(file)?;
    notes_of(notes, group).written = Some((particles.particles, all_cells));
    Ok(particles)
}

/// The number of particles in all cells of a rank.
fn sum(counts: &[i64]) -> Result<u64> {
    (0..).zip(counts).try_fold(0_u64, |all, (cell, &count)| {
        let all =
            u64::try_from(count).ok().and_then(|count| all.checked_add(count)).filter(|&all| all <= MOST);
        all.ok_or_else(|| {
            Error::argument(format!("cell {cell} of this rank: found {count} particles, expected 0 or more"))
        })
    })
}

/// Requires that the mesh to which the cells belong has the same number of cells, if that is known.
fn check_mesh(file: &mut Writer, notes: &mut MeshNotes, mesh: Option<&str>, all_cells: u64) -> Result<()> {
    let Some(of) = mesh else { return Ok(()) };
    for kind in [Convention::Forest, Convention::Patches] {
        let state = notes_of(notes, of);
        if state.mesh.is_none() {
            read_notes(file, state, of, kind)?;
        }
    }
    match notes_of(notes, of).mesh {
        Some((cells, _)) if cells != all_cells => {
            let words = format!(
                "particles: found {all_cells} cells, expected {cells}, as in the last mesh {of} of the file"
            );
            file.agree_on(Err(Error::usage(words)))
        }
        _ => Ok(()),
    }
}

/// The number and the count of each cell of this rank, to be sent to the others.
fn pairs(numbers: &[u64], counts: &[i64]) -> Result<Vec<u8>> {
    if numbers.len() != counts.len() {
        let (found, expected) = (numbers.len(), counts.len());
        return Err(Error::argument(format!(
            "particles: number: found {found} numbers, expected {expected}, one for each cell"
        )));
    }
    let mut pairs = Vec::new();
    reserve(&mut pairs, 16 * numbers.len())?;
    for (number, count) in numbers.iter().zip(counts) {
        pairs.extend(number.to_ne_bytes());
        pairs.extend(count.to_ne_bytes());
    }
    Ok(pairs)
}

/// The offsets of all cells, from their numbers and counts.
fn by_number(pairs: &[u8], all_cells: u64) -> Result<Vec<i64>> {
    let mut offsets = Vec::new();
    resize(&mut offsets, all_cells + 1)?;
    offsets.fill(-1);
    for pair in pairs.as_chunks::<16>().0 {
        let (number, count) = pair.split_at(8);
        let [number, count] = [number, count].map(|bytes| bytes.first_chunk().copied().unwrap_or_default());
        let (number, count) = (u64::from_ne_bytes(number), i64::from_ne_bytes(count));
        // There are as many numbers as cells, so if one occurs twice, another is missing.
        match offsets.get_mut(to_usize(number)).filter(|found| number < all_cells && **found == -1) {
            Some(place) => *place = count,
            None => {
                let words = format!(
                    "cells of particles: found number {number}, expected each number below {all_cells} once"
                );
                return Err(Error::argument(words));
            }
        }
    }
    let mut next = 0;
    for offset in &mut offsets {
        (*offset, next) = (next, next + (*offset).max(0));
    }
    Ok(offsets)
}

/// Determines where the particles of this rank's cells begin, from the offsets of all cells.
fn begins(particles: &mut Particles, numbers: &[u64], counts: &[i64], all: &[i64]) -> Result<()> {
    let mut begins = Vec::new();
    reserve(&mut begins, numbers.len())?;
    let begin = |number: &u64| all.get(to_usize(*number)).copied().unwrap_or(0).unsigned_abs();
    begins.extend(numbers.iter().zip(counts).map(|(number, count)| (begin(number), count.unsigned_abs())));
    particles.begins = Some(begins);
    Ok(())
}

/// The offsets of this rank's cells; on the last rank also the end of all.
fn offsets_of(particles: &Particles, counts: &[i64], without_cells: bool, is_last: bool) -> Result<Vec<i64>> {
    let mut offsets = Vec::new();
    reserve(&mut offsets, counts.len() + 2)?;
    let mut next = particles.first.cast_signed();
    if without_cells && is_last {
        offsets.push(0);
    }
    for count in counts {
        offsets.push(next);
        next += count;
    }
    if is_last {
        offsets.push(particles.particles.cast_signed());
    }
    Ok(offsets)
}

/// Prepares writing a field of the particles that were written last: its dataset, and the boxes of this rank's
/// particles. `what` has the field's name within the group; the first number of indices in its shape is ignored.
///
/// # Errors
/// `Usage` if the particles are not those written last; `Argument`; `Memory`.
pub fn field(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    particles: &Particles,
    what: &Dataset,
) -> Result<(Dataset, Vec<IndexBox>)> {
    let own = if notes_of(notes, group).written == Some((particles.particles, particles.all_cells)) {
        field_in_group(group, what, particles.particles, Some("particle"))
            .and_then(|dataset| particles.regions(&dataset.shape).map(|regions| (dataset, regions)))
    } else {
        let name = &what.name;
        let words = format!(
            "field {name} of {group}: its particles are not those written last; call scda_particles_write first"
        );
        Err(Error::usage(words))
    };
    file.agree_on(own)
}

/// Reads how many particles each cell has, and distributes them.
///
/// `cells` is the number of cells of this rank, for a mesh that has been read already. With `None`, on all
/// ranks, each rank gets consecutive cells with about the same number of particles; if there is one cell, or
/// none, about the same number of particles. `number` has the numbers of these cells, which may be any,
/// including those of other ranks; with `None`, the cells are consecutive, in the order of the ranks, and all
/// of them. `step`: 0 is the first one, -1 the last one.
///
/// # Errors
/// `NotFound` if the file has no such particles or step; `Format` for inconsistent offsets; `Argument` if the
/// file has another number of cells; `Memory`; and those of [`scda::DatasetHandle::read`].
pub fn read(
    file: &mut Reader,
    group: &str,
    step: i64,
    cells: Option<u64>,
    number: Result<Option<&[u64]>>,
) -> Result<Particles> {
    let number = part_name(group, OFFSETS.name).and_then(|name| Ok((name, number?)));
    let (name, number) = file.agree_on(number)?;
    let own_cells = cells.unwrap_or(0);
    let [some, none] = numbering(number.is_some(), to_usize(own_cells));
    let [without, of_cells, some, none] = spread(file, [u64::from(cells.is_none()), own_cells, some, none])?;
    let is_numbered = are_numbered(file, [some, none], "cells")?;
    let ranks = file.size() as u64;
    if without.total > 0 && (without.total < ranks || is_numbered) {
        let words = "cells: found a number of cells on some ranks only, expected it on all ranks or on none";
        return file.agree_on(Err(Error::argument(words)));
    }
    attributes_of(file, group, PARTICLES, 1)?;
    let up_to = 0..sections(file, group, step)?.end;
    let record = need(file, &name, &up_to, step)?;
    let dataset = open(file, (group, record), &OFFSETS, 0, None)?;
    let mut found = whole(file, group, &dataset)?;
    if without.total > 0 {
        if found.all_cells == 1 {
            let share = found.particles / ranks;
            found.first = share * file.rank() as u64;
            found.n = if file.rank() as u64 + 1 == ranks { found.particles - found.first } else { share };
            return Ok(found);
        }
        let [first, next] = shares(file, group, &found, &dataset)?;
        return own_part(file, (group, &dataset), found, &[(first, next - first)], false);
    }
    let own: Result<Vec<_>> = match number {
        Some(numbers) => numbers
            .iter()
            .map(|&number| match number < found.all_cells {
                true => Ok((number, 1)),
                false => {
                    let all = found.all_cells;
                    Err(Error::argument(format!(
                        "cells of particles: found number {number}, expected a number below {all}, the cells of {name}"
                    )))
                }
            })
            .collect(),
        None if is_numbered => Ok(Vec::new()),
        None if of_cells.total != found.all_cells => Err(Error::argument(format!(
            "{name}: found {} cells in the file and {} on all ranks together, expected the same number; read the mesh of the same step",
            found.all_cells, of_cells.total
        ))),
        None => Ok(vec![(of_cells.offset, own_cells)]),
    };
    let own = file.agree_on(own)?;
    own_part(file, (group, &dataset), found, &own, is_numbered)
}

/// The particles and cells of all ranks, from the last two offsets.
fn whole(file: &mut Reader, group: &str, dataset: &DatasetHandle) -> Result<Particles> {
    let wrong = |wrong: MeshError| wrong.error(ErrorKind::Format, group);
    let numbers = dataset.shape[0];
    file.agree_on(check_count(numbers).map_err(wrong))?;
    let ends = read_rows(file, dataset, &[IndexBox::new([numbers - 2], [2])], i64::from_ne_bytes)?;
    let last = numbers - 2;
    let particles = u64::try_from(ends[1]).ok().filter(|&all| all <= MOST).ok_or_else(|| {
        MeshError::new(OFFSETS.name, format!("cell {last} ends at {}, expected 0 to 2^60 particles", ends[1]))
    });
    let particles = particles.and_then(|all| check_cell(last, ends[0], ends[1], Some(all)).map(|()| all));
    let particles = file.agree_on(particles.map_err(wrong))?;
    Ok(Particles { particles, all_cells: last + 1, ..Particles::default() })
}

/// The most offsets that are read at once: each part is checked before memory for the next one is allocated.
const AT_ONCE: u64 = 1 << 20;

/// The first cell of this rank and of the next one, so that each rank has about the same number of particles
/// and cells. Each rank reads the offsets of an equal share of cells first.
fn shares(file: &mut Reader, group: &str, all: &Particles, dataset: &DatasetHandle) -> Result<[u64; 2]> {
    let (rank, size) = (file.rank() as u64, file.size() as u64);
    let each = all.all_cells / size;
    let (first, most) = (each * rank, all.all_cells - each * (size - 1));
    let own = if rank + 1 == size { most } else { each };
    let share = (all.particles + all.all_cells) / size + 1;
    // The first cells of the ranks whose share begins among these cells.
    let mut starts: Vec<[u64; 2]> = Vec::new();
    let mut before = None;
    let mut at = 0;
    while at <= most {
        let now = (own + 1).saturating_sub(at).min(AT_ONCE);
        let region = (now > 0).then(|| IndexBox::new([first + at], [now]));
        let offsets = read_rows(file, dataset, region.as_slice(), i64::from_ne_bytes)?;
        let mut add = || {
            for (&end, cell) in offsets.iter().zip(first + at..) {
                if let Some(begin) = before.replace(end) {
                    let cell = cell - 1;
                    check_cell(cell, begin, end, Some(all.particles))?;
                    let middle = i64::midpoint(begin, end).unsigned_abs() + cell;
                    if starts.last().is_none_or(|[owner, _]| *owner != middle / share) {
                        starts.push([middle / share, cell]);
                    }
                }
            }
            Ok(())
        };
        let added = add().map_err(|wrong: MeshError| wrong.error(ErrorKind::Format, group));
        file.agree_on(added)?;
        at += AT_ONCE;
    }
    let starts: Vec<u8> = starts.as_flattened().iter().flat_map(|word| word.to_ne_bytes()).collect();
    let starts = file.gather_all(Ok(&starts))?;
    let starts = starts.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect::<Vec<_>>();
    let begin = |rank: u64| {
        let later = starts.as_chunks::<2>().0.iter().filter(|[owner, _]| *owner >= rank);
        later.map(|[_, cell]| *cell).min().filter(|_| rank > 0)
    };
    Ok([
        if rank == 0 { 0 } else { begin(rank).unwrap_or(all.all_cells) },
        begin(rank + 1).unwrap_or(all.all_cells),
    ])
}

/// The particles in the cells of this rank.
fn own_part(
    file: &mut Reader,
    (group, dataset): (&str, &DatasetHandle),
    mut found: Particles,
    own: &[(u64, u64)],
    numbered: bool,
) -> Result<Particles> {
    let regions: Vec<_> =
        own.iter().filter(|(_, n)| *n > 0).map(|&(first, n)| IndexBox::new([first], [n + 1])).collect();
    let offsets = read_rows(file, dataset, &regions, i64::from_ne_bytes)?;
    let all = found.particles;
    let mut take = || {
        let cells: u64 = own.iter().map(|(_, n)| n).sum();
        let mut begins = Vec::new();
        reserve(&mut found.counts, to_usize(cells))?;
        reserve(&mut begins, if numbered { to_usize(cells) } else { 0 })?;
        let mut rest = &*offsets;
        for &(first, n) in own.iter().filter(|(_, n)| *n > 0) {
            let (these, more) = rest.split_at(to_usize(n) + 1);
            rest = more;
            for (pair, cell) in these.windows(2).zip(first..) {
                check_cell(cell, pair[0], pair[1], Some(all))
                    .map_err(|wrong| wrong.error(ErrorKind::Format, group))?;
                let count = pair[1] - pair[0];
                found.counts.push(count);
                found.n += count.unsigned_abs();
                if numbered {
                    begins.push((pair[0].unsigned_abs(), count.unsigned_abs()));
                }
            }
        }
        found.first = offsets.first().map_or(0, |first| first.unsigned_abs());
        found.first_cell = own.first().map_or(0, |(first, _)| *first);
        found.begins = numbered.then_some(begins);
        Ok(())
    };
    let taken = take();
    file.agree_on(taken)?;
    Ok(found)
}

/// Finds a field of a step: its dataset, and the boxes of this rank's particles. Of `what`, name and shape count,
/// except for the first number of indices.
///
/// # Errors
/// `NotFound` if the step has no such field; `Format` for one of another shape; `Argument`; `Memory`; and those of
/// [`Reader::dataset_record`].
pub fn find_field(
    file: &mut Reader,
    group: &str,
    step: i64,
    particles: &Particles,
    what: &Dataset,
) -> Result<(DatasetHandle, Vec<IndexBox>)> {
    let own = field_in_group(group, what, particles.particles, None);
    let expected = file.agree_on(own)?;
    let sections = sections(file, group, step)?;
    let found = find_field_of_step(file, &expected, (&sections, step), "particle", None)?;
    let regions = file.agree_on(particles.regions(&found.shape))?;
    Ok((found, regions))
}

impl Particles {
    /// The particles of this rank in a dataset of this shape, in as few boxes as possible.
    fn regions(&self, shape: &[u64]) -> Result<Vec<IndexBox>> {
        let own = [(self.first, self.n)];
        let rows = self.begins.as_deref().unwrap_or(&own);
        let mut regions: Vec<IndexBox> = Vec::new();
        reserve(&mut regions, rows.len())?;
        for &(begin, n) in rows.iter().filter(|(_, n)| *n > 0) {
            match regions.last_mut() {
                Some(last) if last.start[0] + last.count[0] == begin => last.count[0] += n,
                _ => {
                    let mut region = IndexBox::all(shape);
                    (region.start[0], region.count[0]) = (begin, n);
                    regions.push(region);
                }
            }
        }
        Ok(regions)
    }
}
