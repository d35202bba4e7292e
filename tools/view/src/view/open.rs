//! The files that are looked at.

use super::catalogue::{Catalogue, Entry};
use super::parameters::Parameters;
use crate::fail::{Fail, Result};
use crate::files::Input;
use crate::plot::mesh::{FieldPlace, Mesh};
use scda::Reader;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last mesh and the last field.
#[derive(Default)]
pub struct Cache {
    pub mesh: Option<(MeshKey, Mesh)>,
    pub field: Option<(FieldKey, Field)>,
}

/// A group, the end of the step, and the plane that cuts it.
type MeshKey = (String, u64, String);
/// What is drawn, and which number of it.
type FieldKey = (FieldPlace, Option<String>);
/// The numbers of the cells, and what they are called.
pub type Field = (Vec<f64>, String);

/// A file that is open.
pub struct OpenFile {
    pub input: Input,
    pub reader: Reader,
    pub catalogue: Catalogue,
    pub cache: Cache,
}

/// The files.
pub struct View {
    pub files: Vec<Mutex<OpenFile>>,
}

impl View {
    pub fn new(inputs: Vec<Input>) -> Result<Self> {
        let open = |input: Input| {
            let mut reader = input.open_damaged(false)?;
            let catalogue = Catalogue::new(&input, &mut reader)?;
            Ok(Mutex::new(OpenFile { input, reader, catalogue, cache: Cache::default() }))
        };
        Ok(Self { files: inputs.into_iter().map(open).collect::<Result<_>>()? })
    }

    pub fn file(&self, number: usize) -> Result<MutexGuard<'_, OpenFile>> {
        let file = self.files.get(number);
        let file = file.ok_or_else(|| {
            Fail::Trouble(format!("there are {} files, and no file {number}", self.files.len()))
        })?;
        // What another request has left is read anew by each.
        Ok(file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl OpenFile {
    /// The line of the catalogue that a request means.
    pub fn entry(&self, parameters: &Parameters) -> Result<&Entry> {
        let number: usize = parameters.get("item")?;
        let entry = self.catalogue.entries.get(number);
        entry.ok_or_else(|| {
            Fail::Trouble(format!("parameter item: found {number}, which the file does not have"))
        })
    }

    /// The name of what a request means.
    pub fn name(&self, parameters: &Parameters) -> Result<String> {
        Ok(self.entry(parameters)?.name.clone())
    }
}
