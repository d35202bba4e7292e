//! `scda view`: looks at files in a browser.

mod api;
mod browser;
mod catalogue;
mod guard;
mod http;
mod meshes;
mod open;
mod parameters;

use crate::fail::{Fail, Result};
use crate::files::{Input, Resources};
use crate::output::{Output, complain};
use browser::Redirect;
use guard::Guard;
use open::View;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// Look at files in a browser
///
/// Serves a page that shows what is in the files: groups, datasets, streams and sections; attributes and values; and meshes
/// coloured by their fields. Prints its address, opens it in a browser if there is a screen, and goes on until Ctrl-C. Nothing is changed. Only what is shown is
/// read, so large files open at once. The page is served to this machine alone, under an address that nobody can guess and no list of
/// processes shows: where several people use the machine, keep it to yourself. It needs no network. The browser is given a file in your
/// home folder, scda-view-....html, that only you can read and that leads it to the page; the file is removed as soon as the page is
/// there. A browser that cannot read the file, or runs on another machine, opens the address that is printed.
///
/// On the page, ? lists the keys, and link copies an address of the view. With up to four files, fields of one name and record stand
/// side by side with one scale, and each later one minus the first, pixel by pixel.
///
/// A mesh is read whole, up to 33,554,432 cells. Of a mesh in space the surface is drawn, or a cut. A ragged field shows how many values
/// each cell has. Numbers are unpacked, and missing ones grey, as CF has them. Datasets that are no fields of a mesh are drawn by
/// programs for HDF5, if the file has a view (scda hdf5); scda cat prints their values.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  scda view flow.scda
  scda view before.scda after.scda            two files, and their difference
  scda view flow.scda --port 8123             on another machine; then, on yours,
                                              ssh -L 8123:127.0.0.1:8123 machine
                                              and open the address that the command has printed")]
pub struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The port of the address [default: a free one]
    #[arg(short, long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the address, but open no browser
    #[arg(long)]
    no_browser: bool,
    /// Also what follows the last seal of a sealed file: what a killed job has left, or another one writes now
    #[arg(long)]
    unsealed: bool,
    #[command(flatten)]
    resources: Resources,
}

pub fn run(args: &Args) -> Result<()> {
    let open =
        |path: &PathBuf| Input::new(path, &args.resources).map(|input| input.with_unsealed(args.unsealed));
    let inputs = args.files.iter().map(open).collect::<Result<Vec<_>>>()?;
    let view = View::new(inputs)?;
    let trouble = |error| Fail::Trouble(format!("port {}: {error}", args.port));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).map_err(trouble)?;
    let port = listener.local_addr().map_err(trouble)?.port();
    let guard = Guard::new()?;
    let address = format!("http://127.0.0.1:{port}{}", guard.path());
    let mut out = Output::new()?;
    out.text(format_args!("{address}\n"))?;
    out.finish()?;
    complain("Ctrl-C ends it");
    let redirect = if args.no_browser { Ok(Redirect::none()) } else { Redirect::open(&address) };
    let redirect = redirect.unwrap_or_else(|fail| {
        fail.report();
        Redirect::none()
    });
    http::serve(
        &listener,
        |request| guard.path_of(request),
        |path| {
            redirect.remove();
            api::answer(&view, path)
        },
    );
    Ok(())
}
