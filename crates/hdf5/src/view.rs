//! The contents of a view, as a caller lists them.

use crate::attribute;
use crate::item::{DatasetView, Item, Part, Reason, ViewItems};
use crate::names::Datasets;
use crate::outline::{Extent, Outline};
use crate::parts::{Previous, ViewBytes};
use crate::plan::{Attributes, Plan, joined, show};
use crate::previous_view::PreviousView;
use crate::vtk::{self, Tables};
use crate::writer::Writer;
use scda_base::error::Result;
use scda_base::memory::push;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest name, and the deepest nesting of groups.
const MAX_NAME_BYTES: usize = 1024;
const MAX_LEVELS: usize = 64;

/// The contents of a view.
#[derive(Clone, Debug, Default)]
pub struct View {
    datasets: Datasets,
    /// The parts of datasets whose rows do not continue their chunks, by name.
    joined: BTreeMap<String, Vec<Arc<Item>>>,
    /// Groups with their attributes, by path; that of the root is empty.
    groups: BTreeMap<String, Attributes>,
    hidden: Vec<(String, String)>,
    /// What the group for VTK needs, if there is to be one.
    tables: Option<Tables>,
    outline: Option<Outline>,
    /// The objects, if nothing was added since they were written.
    plan: OnceCell<Plan>,
}

/// The objects of a view that was written.
#[derive(Debug, Default)]
pub struct Objects(Plan);

impl View {
    /// An empty view.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a dataset with this full name. If HDF5 cannot show it, an attribute of the root group names it.
    ///
    /// # Errors
    /// `Memory`.
    pub fn dataset(&mut self, name: &str, DatasetView(items): &DatasetView) -> Result<()> {
        self.plan.take();
        if let Some(why) = cannot_be_named(name) {
            return self.hide(name, why);
        }
        match items {
            ViewItems::One(item) => self.datasets.push(name, item.clone()),
            ViewItems::Parts(parts) => {
                self.joined.insert(name.to_owned(), parts.clone());
                Ok(())
            }
            ViewItems::Nothing(why) => self.hide(name, why),
        }
    }

    /// Adds the datasets of a name from an outline; `part` and the attributes are those of the last one.
    /// Their order is set through [`Self::order`].
    ///
    /// # Errors
    /// `Format` if the outline does not suffice; the errors of [`DatasetView::new`].
    pub fn restore(
        &mut self,
        name: &str,
        attributes: &str,
        part: &Part<'_>,
        extent: Extent,
    ) -> Result<DatasetView> {
        self.plan.take();
        let items = extent.items(attributes, part)?;
        let last = items.0.clone();
        self.datasets.restore(name, extent.records.saturating_sub(1), items)?;
        Ok(DatasetView(ViewItems::One(last)))
    }

    /// Drops the records that are shown with later ones as one dataset, as if they had been
    /// [restored](Self::restore). Such a view cannot be written from scratch.
    pub fn forget_earlier(&mut self) {
        self.datasets.forget_earlier();
    }

    /// For each dataset in the order of the file, the number of its name, in the order in which names were
    /// added.
    pub fn order(&mut self) -> &mut Vec<usize> {
        self.datasets.order()
    }

    /// The names of datasets, in the order in which they were added, with their extents; `None` if an outline
    /// does not suffice for one.
    pub fn extents(&self) -> impl Iterator<Item = (&str, Option<Extent>)> {
        self.datasets.iter().map(|named| {
            let item = match (&named.records[..], &named.series) {
                (_, Some(series)) => Some(series),
                ([one], None) if named.earlier == 0 => Some(one),
                _ => None,
            };
            (&*named.path, item.map(|item| Extent::of(item, named.count())))
        })
    }

    /// Whether a dataset is shown in parts.
    pub fn has_parts(&self) -> bool {
        !self.joined.is_empty()
    }

    /// Changes how a dataset is shown, if it is the last one of its name and was shown as `before`; returns
    /// whether it is.
    pub fn replace(&mut self, name: &str, before: &DatasetView, now: &DatasetView) -> bool {
        let (ViewItems::One(before), ViewItems::One(now)) = (&before.0, &now.0) else { return false };
        self.plan.take();
        self.datasets.replace(name, before, now)
    }

    /// Sets the outline, which is written with the view.
    pub fn set_outline(&mut self, outline: Option<Outline>) {
        self.outline = outline;
    }

    /// Sets the attributes of a group, a JSON object, in place of earlier ones. `/` is the root.
    ///
    /// # Errors
    /// `Memory`; `Format` if the text is not a JSON object.
    pub fn group(&mut self, path: &str, attributes: &str) -> Result<()> {
        let attributes = attribute::of_object(attributes, None)?;
        self.plan.take();
        let path = if path == "/" { "" } else { path };
        if !path.is_empty()
            && let Some(why) = cannot_be_named(path)
        {
            return self.hide(path, why);
        }
        self.groups.insert(path.to_owned(), attributes);
        Ok(())
    }

    /// Adds the group with which VTK and ParaView open a mesh, or otherwise a grid of points, from all
    /// datasets and groups that were added before. `read` reads bytes of the file at an offset: small arrays,
    /// of at most 4 MiB each, with the places of patches or points.
    ///
    /// # Errors
    /// `Memory`; those of `read`.
    pub fn meshes(&mut self, read: &mut dyn FnMut(u64, &mut [u8]) -> Result<()>) -> Result<()> {
        self.plan.take();
        self.tables = Some(Tables::read(&self.datasets, &self.groups, read)?);
        Ok(())
    }

    /// Adds a name to those that are not shown, with the reason.
    ///
    /// # Errors
    /// `Memory`.
    pub fn hide(&mut self, name: &str, why: &str) -> Result<()> {
        self.plan.take();
        push(&mut self.hidden, (name.to_owned(), why.to_owned()))
    }

    /// The names that are not shown so far, with the reasons.
    pub fn hidden(&self) -> impl Iterator<Item = (&str, &str)> {
        self.hidden.iter().map(|(name, why)| (&**name, &**why))
    }

    /// The bytes of the view, which begins at an offset of the file.
    ///
    /// # Errors
    /// `Memory`; `Range` if numbers exceed 63 bits or HDF5's limits.
    pub fn write(&self, offset: u64) -> Result<ViewBytes> {
        Writer::new(offset, None)?.write(self.plan()?, &Plan::default(), self.outline.as_ref())
    }

    /// Like [`Self::write`], but refers to unchanged objects of the previous view, for which
    /// [`Self::take_objects`] has returned `before`. If nothing is new, there are no bytes to be written.
    ///
    /// # Errors
    /// Those of [`Self::write`]; `Format` if this library has not written the previous view, or if it does
    /// not have these contents; those of the reading function.
    pub fn write_after(
        &self,
        offset: u64,
        Objects(before): &Objects,
        previous: Previous<'_>,
    ) -> Result<ViewBytes> {
        let old = PreviousView::new(previous, offset)?;
        Writer::new(offset, Some(old))?.write(self.plan()?, before, self.outline.as_ref())
    }

    /// The objects that were written, after which the view may be extended.
    ///
    /// # Errors
    /// The errors of [`Self::write`].
    pub fn take_objects(&mut self) -> Result<Objects> {
        Ok(Objects(match self.plan.take() {
            Some(plan) => plan,
            None => self.new_plan()?,
        }))
    }

    fn plan(&self) -> Result<&Plan> {
        match self.plan.get() {
            Some(plan) => Ok(plan),
            None => {
                let plan = self.new_plan()?;
                Ok(self.plan.get_or_init(|| plan))
            }
        }
    }

    fn new_plan(&self) -> Result<Plan> {
        let Self { datasets, joined: of_parts, groups, hidden, tables, .. } = self;
        let mut plan = Plan { groups: groups.clone(), hidden: hidden.clone(), ..Plan::default() };
        let mut all = Cow::Borrowed(datasets);
        for (name, parts) in of_parts {
            if datasets.contains(name) {
                plan.hidden.push((
                    name.clone(),
                    "one of its records has rows that do not continue its chunks".into(),
                ));
                continue;
            }
            let (named, made) = joined(name, parts)?;
            for (name, item) in named {
                all.to_mut().push(&name, item)?;
            }
            plan.arrays.insert(name.clone(), made);
        }
        show(&mut plan, &all)?;
        if let Some(tables) = tables {
            vtk::add(&mut plan, datasets, tables)?;
        }
        Ok(plan)
    }
}

/// Why HDF5 cannot have an object with this path.
fn cannot_be_named(path: &str) -> Option<Reason> {
    let mut levels = 0;
    let mut are_names = !path.contains('\0');
    for name in path.split('/') {
        levels += 1;
        are_names &= !name.is_empty() && name != ".";
    }
    if path.len() > MAX_NAME_BYTES || levels > MAX_LEVELS {
        return Some("a name of too many bytes or slashes");
    }
    (!are_names).then_some("a name that is not valid in HDF5")
}
