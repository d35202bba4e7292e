//! The options of commands that read and write files.

use scda::{Encoder, Hdf5, LineBreak, Tuning, WriteOptions};

/// What reading a file may use.
#[derive(clap::Args, Default)]
pub struct Resources {
    /// The number of threads that compress and decompress [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Fail if the contents of a file demand more memory than this, in bytes; for files of unknown origin
    /// [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    max_memory: Option<u64>,
}

impl Resources {
    /// Sets them for a file that is opened.
    pub fn set(&self, tuning: &mut Tuning) {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get().min(1024));
        tuning.threads = self.threads.map_or_else(cores, usize::from);
        tuning.max_memory = self.max_memory.unwrap_or(0);
    }
}

/// How files are written.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Style {
    Unix,
    Mime,
}

impl From<Style> for LineBreak {
    fn from(style: Style) -> Self {
        match style {
            Style::Unix => Self::Unix,
            Style::Mime => Self::Mime,
        }
    }
}

/// Which code compresses.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum EncoderName {
    Fast,
    Zlib,
}

impl From<EncoderName> for Encoder {
    fn from(name: EncoderName) -> Self {
        match name {
            EncoderName::Fast => Self::Fast,
            EncoderName::Zlib => Self::Zlib,
        }
    }
}

/// Whether a new file is sealed, and an HDF5 file as well: both by default.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct SealByDefault {
    /// Do not seal OUT
    #[arg(long)]
    no_seal: bool,
    /// Seal OUT, and make it an HDF5 file as well, which h5py and others open [default: like the input if
    /// that is an scda file, else whenever OUT is sealed]
    #[arg(long, conflicts_with_all = ["no_hdf5", "no_seal"])]
    hdf5: bool,
    /// Do not make OUT an HDF5 file
    #[arg(long)]
    no_hdf5: bool,
}

impl SealByDefault {
    /// Sets the options of the new file.
    pub fn set(self, params: &mut WriteOptions) {
        (params.seal, params.hdf5) = (!self.no_seal, self.wants_hdf5(Hdf5::default()));
    }

    fn wants_hdf5(self, default: Hdf5) -> Hdf5 {
        match (self.hdf5, self.no_hdf5) {
            (true, _) => Hdf5::Close,
            (_, true) => Hdf5::Never,
            _ => default,
        }
    }
}

/// Whether a new file is sealed.
#[derive(clap::Args, Default)]
pub struct Seal {
    /// Seal OUT, so that readers can verify that it is complete and undamaged [default: like the input]
    #[arg(long, conflicts_with = "no_seal")]
    seal: bool,
    #[command(flatten)]
    others: SealByDefault,
}

impl Seal {
    /// Whether the new file is also an HDF5 file: the user's choice, or `default` without one.
    pub fn wants_hdf5(&self, default: Hdf5) -> Hdf5 {
        self.others.wants_hdf5(default)
    }

    /// The user's choice, or `default` without one.
    pub fn wanted(&self, default: bool) -> bool {
        self.seal || self.others.hdf5 || default && !self.others.no_seal
    }
}
