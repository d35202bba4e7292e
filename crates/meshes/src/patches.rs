//! Patches of block-structured codes: docs/patches.md.

use crate::notes::{MeshNotes, notes_of, read_notes};
use crate::ranks::{are_numbered, checksum_of_all, numbering, spread};
use crate::read::{Numbers, RankSource, RecordChoice, Source, numbers, open as open_part};
use crate::steps::{dimension, find_field, need, sections};
use crate::write::{Columns, Rows, bytes_of, field, write_group};
use scda::{
    Collective, DataType, Dataset, DatasetHandle, Error, ErrorKind, IndexBox, Reader, Result, Writer,
};
use scda_base::memory::{reserve, resize};
use scda_base::numbers::to_usize;
use scda_format::meshes::checksum::Checksum;
use scda_format::meshes::parts::{BOXES, DOMAIN, GEOMETRY, PATCH_LEVEL, RATIO};
use scda_format::meshes::patches::{Frame, MOST, PatchChecker, check_levels, check_order};
use scda_format::meshes::{Convention, DIMENSION, MeshError, attributes, part_name};

const PATCHES: Convention = Convention::Patches;

/// The group of patches if no name is given.
pub const GROUP: &str = "patches";

/// The patches of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnPatches<'a> {
    /// The level of each patch.
    pub level: &'a [i32],
    /// For each patch: its first cell on each axis, followed by its number of cells on each axis.
    pub boxes: &'a [i64],
    /// The number of each patch among those of all ranks; `None` if they are consecutive, in the order of the
    /// ranks. Set on all ranks or on none, except that a rank without patches need not set it.
    pub number: Option<&'a [u64]>,
}

/// A mesh of patches, of which this rank knows its own patches, or all.
#[derive(Clone, Debug, Default)]
pub struct Patches {
    /// Its levels and its domain.
    pub frame: Frame,
    /// The number of patches of all ranks.
    pub patches: u64,
    /// The number of cells of all patches.
    pub cells: u64,
    /// The number of this rank's first patch, unless patches have numbers.
    pub first: u64,
    /// The number of patches of this rank.
    pub n: u64,
    /// The levels of the known patches: of all, or without numbers and before reading, of this rank's.
    pub level: Vec<i32>,
    /// The boxes of the known patches.
    pub boxes: Vec<i64>,
    /// Where the cells of the known patches begin in the fields.
    offset: Vec<u64>,
    /// Whether all patches are known.
    pub knows_all: bool,
    /// The checksum of the mesh.
    pub checksum: Checksum,
}

impl Patches {
    /// The index of the patch with this number among the known ones.
    fn place(&self, number: u64) -> Option<usize> {
        let begin = if self.knows_all { 0 } else { self.first };
        number.checked_sub(begin).map(to_usize).filter(|&place| place < self.level.len())
    }

    /// The level and box of a patch, if they are known.
    #[must_use]
    pub fn patch(&self, number: u64) -> Option<(i32, &[i64])> {
        let place = self.place(number)?;
        let words = 2 * self.frame.dimension;
        Some((self.level[place], &self.boxes[words * place..words * (place + 1)]))
    }

    /// Checks the known patches, from number `first` on, and determines where their cells begin, after
    /// `begin` cells.
    fn take(&mut self, first: u64, begin: u64) -> Result<Result<(), MeshError>> {
        self.offset.clear();
        reserve(&mut self.offset, self.level.len())?;
        let mut checked = PatchChecker::new(&self.frame, first);
        for (level, cells) in self.level.iter().zip(self.boxes.chunks_exact(2 * self.frame.dimension)) {
            self.offset.push(begin + checked.cells);
            if let Err(wrong) = checked.add(*level, cells) {
                return Ok(Err(wrong));
            }
        }
        (self.cells, self.checksum) = (checked.cells, checked.checksum);
        Ok(if self.knows_all { checked.end() } else { Ok(()) })
    }
}

/// Writes a mesh of patches, and before the first one the attributes of its group.
///
/// If patches have numbers, all ranks receive all patches, about 60 bytes for each.
///
/// # Errors
/// `Argument` for patches outside the domain, not ordered by level, or with wrong numbers; `Range`; `Memory`;
/// and those of [`Writer::dataset`]. Overlapping patches are not detected here, but by `scda check`.
pub fn write(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    frame: Frame,
    own: Result<OwnPatches<'_>>,
) -> Result<Patches> {
    let argument = |wrong: MeshError| wrong.error(ErrorKind::Argument, group);
    let own = part_name(group, "geometry").and_then(|_| frame.check().map_err(argument)).and(own);
    let own = own.and_then(|own| {
        let (n, words) = (own.level.len(), 2 * frame.dimension);
        let numbers = own.number.map_or(n, <[u64]>::len);
        let each = format!("{words} for each patch");
        for (what, found, expected, why) in
            [("boxes", own.boxes.len(), words * n, &*each), ("number", numbers, n, "one for each patch")]
        {
            if found != expected {
                let words = format!("{group}: {what}: found {found} numbers, expected {expected}, {why}");
                return Err(Error::argument(words));
            }
        }
        Ok(own)
    });
    let own = file.agree_on(own)?;
    let n = own.level.len() as u64;
    let [with, without] = numbering(own.number.is_some(), own.level.len());
    let [of_patches, with, without] = spread(file, [n, with, without])?;
    if of_patches.total == 0 {
        return file.agree_on(Err(Error::argument(format!(
            "{group}: found no patch on any rank, expected at least 1"
        ))));
    }
    let is_numbered = are_numbered(file, [with, without], "patches")?;
    let mut mesh =
        Patches { frame, patches: of_patches.total, first: of_patches.offset, n, ..Patches::default() };
    if is_numbered {
        mesh.knows_all = true;
        let words = words_of(&mesh.frame, &own);
        let gathered = file.gather_all(words.as_deref().map_err(Error::again))?;
        let taken = by_number(&mut mesh, &gathered)
            .and_then(|()| mesh.take(0, 0).and_then(|checked| checked.map_err(argument)));
        file.agree_on(taken)?;
    } else {
        own_part(file, group, &mut mesh, own)?;
    }
    let state = notes_of(notes, group);
    read_notes(file, state, group, PATCHES)?;
    let d = mesh.frame.dimension;
    write_group(file, state, group, &format!("{{\"{}\":1,\"{DIMENSION}\":{d}}}", PATCHES.attribute()))?;
    let columns = columns(group, &mesh, own, file.rank() == 0);
    file.agree_on(columns)?.write(file)?;
    notes_of(notes, group).mesh = Some((mesh.patches, mesh.checksum));
    Ok(mesh)
}

/// Adds the patches of this rank, which follow those of lower ranks.
fn own_part(file: &mut Writer, group: &str, mesh: &mut Patches, own: OwnPatches<'_>) -> Result<()> {
    let argument = |wrong: MeshError| wrong.error(ErrorKind::Argument, group);
    let room = reserve(&mut mesh.level, own.level.len()).and(reserve(&mut mesh.boxes, own.boxes.len()));
    let taken = room.and_then(|()| {
        mesh.level.extend(own.level);
        mesh.boxes.extend(own.boxes);
        mesh.take(mesh.first, 0)?.map_err(argument)
    });
    file.agree_on(taken)?;
    // The levels must begin where those of the previous ranks end.
    let ends = own.level.first().zip(own.level.last());
    let ends = ends.map(|(first, last)| [first.to_ne_bytes(), last.to_ne_bytes()]);
    let begin = mesh.first.to_ne_bytes();
    let own_ends = ends.map(|ends| [&begin, ends.as_flattened()].concat());
    let all = file.gather_all(Ok(own_ends.as_deref().unwrap_or_default()))?;
    let mut before = 0;
    let ordered = all.as_chunks::<16>().0.iter().try_for_each(|ends| {
        let (number, levels) = ends.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let mut levels = levels.as_chunks().0.iter().map(|level| i32::from_ne_bytes(*level));
        check_order(u64::from_ne_bytes(*number), before, levels.next().unwrap_or(before))?;
        before = levels.next().unwrap_or(before);
        Ok(())
    });
    file.agree_on(ordered.map_err(argument))?;
    mesh.checksum = checksum_of_all(file, mesh.checksum)?;
    let [cells] = spread(file, [mesh.cells])?;
    mesh.offset.iter_mut().for_each(|offset| *offset += cells.offset);
    mesh.cells = cells.total;
    if cells.total >= MOST {
        let words = format!("{group}: the patches have more than 2^60 cells");
        return file.agree_on(Err(Error::range(words)));
    }
    Ok(())
}

/// The number, level and box of each patch of this rank, to be sent to the others.
fn words_of(frame: &Frame, own: &OwnPatches<'_>) -> Result<Vec<u8>> {
    let (numbers, words) = (own.number.unwrap_or_default(), 2 * frame.dimension);
    let mut all = Vec::new();
    reserve(&mut all, numbers.len() * (words + 2) * 8)?;
    for ((number, level), cells) in numbers.iter().zip(own.level).zip(own.boxes.chunks_exact(words)) {
        all.extend(number.to_ne_bytes());
        all.extend(i64::from(*level).to_ne_bytes());
        cells.iter().for_each(|n| all.extend(n.to_ne_bytes()));
    }
    Ok(all)
}

/// Sorts all patches by number.
fn by_number(mesh: &mut Patches, gathered: &[u8]) -> Result<()> {
    let (words, patches) = (2 * mesh.frame.dimension, mesh.patches);
    resize(&mut mesh.level, patches)?;
    resize(&mut mesh.boxes, patches * words as u64)?;
    mesh.level.fill(-1);
    for patch in gathered.chunks_exact((words + 2) * 8) {
        let mut numbers = patch.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
        let number = numbers.next().unwrap_or_default().cast_unsigned();
        let level = numbers.next().and_then(|level| i32::try_from(level).ok()).unwrap_or_default();
        let place = to_usize(number);
        if number >= patches || mesh.level[place] != -1 {
            let words = format!("patches: found number {number}, expected each number below {patches} once");
            return Err(Error::argument(words));
        }
        mesh.level[place] = level;
        mesh.boxes[words * place..words * (place + 1)].iter_mut().zip(numbers).for_each(|(to, n)| *to = n);
    }
    Ok(())
}

/// The datasets of a mesh.
fn columns<'a>(group: &'a str, mesh: &Patches, own: OwnPatches<'_>, is_first: bool) -> Result<Columns<'a>> {
    let (n, frame) = (mesh.patches, &mesh.frame);
    let rows = match own.number {
        Some(numbers) if mesh.knows_all => Rows::Numbered(numbers),
        _ => Rows::From(mesh.first, own.level.len() as u64),
    };
    let mut columns = Columns::new(group, frame.dimension, is_first);
    let boxes = bytes_of(own.boxes.iter().map(|n| n.to_ne_bytes()))?;
    columns.push(&BOXES, n, rows, boxes)?.attributes = attributes::with_mesh("{}", mesh.checksum);
    columns.push(&PATCH_LEVEL, n, rows, bytes_of(own.level.iter().map(|n| n.to_ne_bytes()))?)?;
    columns.of_first(
        &RATIO,
        frame.levels() as u64,
        bytes_of(frame.ratio.iter().map(|n| n.to_ne_bytes()))?,
    )?;
    columns.of_first(&DOMAIN, 2, bytes_of(frame.domain.iter().map(|n| n.to_ne_bytes()))?)?;
    columns.of_first(&GEOMETRY, 2, bytes_of(frame.geometry.iter().map(|n| n.to_ne_bytes()))?)?;
    Ok(columns)
}

/// Where the cells of a patch are in memory, surrounded by layers of ghost cells, with x varying fastest.
#[derive(Clone, Debug)]
pub struct PatchMemory {
    /// The distance in bytes from the first number of the first cell, or ghost cell, to the first number of
    /// the first cell proper.
    pub first: usize,
    /// The numbers of cells, x last, and then of components.
    pub shape: Vec<u64>,
    /// The distance in bytes from one to the next in each of these dimensions.
    pub strides: Vec<i64>,
}

/// The layout of a field in the memory of each patch.
#[derive(Clone, Copy, Debug)]
pub struct FieldMemory {
    /// The type of its numbers.
    pub data_type: DataType,
    /// The number of consecutive numbers in a cell.
    pub components: u64,
    /// The layers of ghost cells at both ends of each axis.
    pub ghost: u64,
    /// The distance in bytes from one cell to the next along x; 0: the size of its numbers.
    pub cell_bytes: u64,
}

impl Patches {
    /// Where a field is in the memory of a patch.
    ///
    /// # Errors
    /// `Argument` if there is no such patch, or if the layout is impossible.
    pub fn memory(&self, number: u64, field: FieldMemory) -> Result<PatchMemory> {
        let (_, cells) = self.patch(number).ok_or_else(|| {
            Error::argument(format!(
                "patches: found number {number}, expected a number below {}",
                self.patches
            ))
        })?;
        let FieldMemory { data_type, components, ghost, cell_bytes } = field;
        let too_many = || {
            Error::range(format!("patch {number}: found {ghost} ghost layers of {cell_bytes} bytes a cell"))
        };
        let item = data_type.item_bytes();
        let mut step = if cell_bytes == 0 { item.checked_mul(components) } else { Some(cell_bytes) };
        let d = self.frame.dimension;
        let mut first = 0_u64;
        let (mut shape, mut strides) = (vec![components], vec![item.cast_signed()]);
        for &n in &cells[d..] {
            let stride = step.filter(|&step| i64::try_from(step).is_ok()).ok_or_else(too_many)?;
            shape.insert(0, n.unsigned_abs());
            strides.insert(0, stride.cast_signed());
            first =
                ghost.checked_mul(stride).and_then(|more| first.checked_add(more)).ok_or_else(too_many)?;
            let with_ghosts = ghost.checked_mul(2).and_then(|ghosts| ghosts.checked_add(n.unsigned_abs()));
            step = with_ghosts.and_then(|n| n.checked_mul(stride));
        }
        Ok(PatchMemory { first: usize::try_from(first).map_err(|_| too_many())?, shape, strides })
    }

    /// The boxes of patches in a field.
    fn regions(&self, numbers: &[u64], shape: &[u64]) -> Result<Vec<IndexBox>> {
        let mut regions = Vec::new();
        reserve(&mut regions, numbers.len())?;
        for &number in numbers {
            let found = self.place(number).zip(self.patch(number));
            let (place, (_, cells)) = found.ok_or_else(|| {
                Error::argument(format!(
                    "patches: found number {number}, expected a number below {}",
                    self.patches
                ))
            })?;
            let mut region = IndexBox::all(shape);
            let cells = cells[self.frame.dimension..].iter().map(|n| n.unsigned_abs());
            (region.start[0], region.count[0]) = (self.offset[place], cells.product());
            regions.push(region);
        }
        Ok(regions)
    }

    /// The datasets of fields in a group, and in each the boxes of patches. A scalar has one dimension; several
    /// components add another one.
    fn own_fields(
        &self,
        group: &str,
        numbers: &[u64],
        fields: Result<&[Field]>,
    ) -> Result<Vec<(Dataset, Vec<IndexBox>)>> {
        let own = fields?.iter().map(|(what, components)| {
            let mut dataset = what.clone();
            dataset.shape = if *components == 1 { vec![0] } else { vec![0, *components] };
            let dataset = field(group, &dataset, self.cells, None)?;
            let regions = self.regions(numbers, &dataset.shape)?;
            Ok((dataset, regions))
        });
        own.collect()
    }
}

/// A field of patches: its name within the group, its type and layout, but not its shape; and its number of
/// components.
pub type Field = (Dataset, u64);

/// Prepares writing fields of the patches with these numbers: their datasets, and in each the boxes of these patches.
/// The mesh is the last one in the group: written by this program or, in a file that is appended to, by an earlier one.
///
/// # Errors
/// `Usage` if the mesh is not the last one written; `Argument`; `Memory`.
pub fn fields(
    file: &mut Writer,
    notes: &mut MeshNotes,
    group: &str,
    mesh: &Patches,
    numbers: &[u64],
    fields: Result<&[Field]>,
) -> Result<Vec<(Dataset, Vec<IndexBox>)>> {
    let state = notes_of(notes, group);
    read_notes(file, state, group, PATCHES)?;
    if state.mesh != Some((mesh.patches, mesh.checksum)) {
        let words = format!(
            "fields of {group}: their mesh is not the one written last; call scda_patches_write_mesh when the mesh has changed"
        );
        return file.agree_on(Err(Error::usage(words)));
    }
    let own = mesh.own_fields(group, numbers, fields).map(|mut own| {
        for (dataset, _) in &mut own {
            dataset.attributes = attributes::with_mesh(&dataset.attributes, mesh.checksum);
        }
        own
    });
    file.agree_on(own)
}

/// Reads and checks a mesh of `d` axes patch by patch. `each` receives the level and the box of each patch, and
/// the number of cells that precede it. The mesh that is returned knows no patches.
///
/// # Errors
/// If the mesh is invalid, and those of the source and of `each`.
pub fn read_each<S: Source>(
    source: &mut S,
    d: usize,
    mut each: impl FnMut(i32, &[i64], u64) -> Result<(), S::Error>,
) -> Result<Patches, S::Error> {
    let ratio = open_part(source, &RATIO, d, None)?;
    source.hold(check_levels(ratio.shape[0]))?;
    let domain = open_part(source, &DOMAIN, d, None)?;
    let geometry = open_part(source, &GEOMETRY, d, None)?;
    let frame = Frame {
        dimension: d,
        ratio: numbers(source, ratio, i32::from_ne_bytes, |_, _| Ok(()))?,
        domain: numbers(source, domain, i64::from_ne_bytes, |_, _| Ok(()))?,
        geometry: numbers(source, geometry, f64::from_ne_bytes, |_, _| Ok(()))?,
    };
    source.hold(frame.check())?;
    let boxes = open_part(source, &BOXES, d, None)?;
    let patches = boxes.shape[0];
    let level = open_part(source, &PATCH_LEVEL, d, Some(patches))?;
    source.bound(&boxes)?;
    source.bound(&level)?;
    let (mut boxes, mut level) = (Numbers::new(boxes), Numbers::new(level));
    let (mut checked, mut cells) = (PatchChecker::new(&frame, 0), vec![0; 2 * d]);
    for _ in 0..patches {
        // The type has been checked.
        let on = i32::try_from(level.next(source)?).unwrap_or(-1);
        for n in &mut cells {
            *n = boxes.next(source)?;
        }
        let begin = checked.cells;
        source.hold(checked.add(on, &cells))?;
        each(on, &cells, begin)?;
    }
    source.hold(checked.end())?;
    let PatchChecker { cells, checksum, .. } = checked;
    source.hold(attributes::expect_mesh(&boxes.attributes, "boxes", checksum, "that it begins"))?;
    Ok(Patches { frame, patches, cells, checksum, knows_all: true, ..Patches::default() })
}

/// Reads a mesh of patches, and assigns consecutive patches to each rank, with about the same number of
/// cells. All ranks receive all patches, about 60 bytes for each. `step`: 0 is the first one, -1 the last
/// one.
///
/// # Errors
/// `NotFound` if the file has no such mesh or step; `Format` for an invalid one; `Memory`;
/// and those of [`scda::DatasetHandle::read`].
pub fn read(file: &mut Reader, group: &str, step: i64) -> Result<Patches> {
    let name = part_name(group, "geometry").and_then(|_| part_name(group, BOXES.name));
    let name = file.agree_on(name)?;
    let d = dimension(file, group, PATCHES, 1, 1..=3)?;
    let up_to = 0..sections(file, group, step)?.end;
    let record = need(file, &name, &up_to, step)?;
    let (mut offset, mut level, mut boxes, mut room) = (Vec::new(), Vec::new(), Vec::new(), Ok(()));
    let mut source = RankSource { file, group, choice: RecordChoice::Record(record) };
    let mut mesh = read_each(&mut source, d, |on, cells, begin| {
        // A rank without memory continues to read with the others, and reports the error at the end.
        if room.is_ok() {
            room = reserve(&mut offset, 1).and(reserve(&mut level, 1)).and(reserve(&mut boxes, cells.len()));
        }
        if room.is_ok() {
            offset.push(begin);
            level.push(on);
            boxes.extend_from_slice(cells);
        }
        Ok(())
    })?;
    file.agree_on(room)?;
    (mesh.level, mesh.boxes, mesh.offset) = (level, boxes, offset);
    // A patch goes to the rank in whose share its middle lies.
    let (rank, share) = (file.rank() as u64, mesh.cells / file.size() as u64 + 1);
    let ends = mesh.offset.iter().skip(1).copied().chain([mesh.cells]);
    let owners = mesh.offset.iter().zip(ends).map(|(&begin, end)| u64::midpoint(begin, end) / share);
    let (mut first, mut n) = (None, 0);
    for (number, _) in (0..).zip(owners).filter(|(_, owner)| *owner == rank) {
        first.get_or_insert(number);
        n += 1;
    }
    (mesh.first, mesh.n) = (first.unwrap_or(0), n);
    Ok(mesh)
}

/// Finds fields of a step for the patches with these numbers, which may be any: their datasets, and in each the boxes
/// of these patches.
///
/// # Errors
/// `NotFound` if the step has no such field; `Format` for one of another shape or mesh; `Argument`; `Memory`; and those
/// of [`Reader::dataset_record`].
pub fn find_fields(
    file: &mut Reader,
    group: &str,
    step: i64,
    mesh: &Patches,
    numbers: &[u64],
    fields: Result<&[Field]>,
) -> Result<Vec<(DatasetHandle, Vec<IndexBox>)>> {
    let sections = sections(file, group, step)?;
    let own = file.agree_on(mesh.own_fields(group, numbers, fields))?;
    let find = |(expected, regions): (Dataset, _)| {
        let found = find_field(file, &expected, (&sections, step), "cell", Some(mesh.checksum))?;
        Ok((found, regions))
    };
    own.into_iter().map(find).collect()
}
