//! `scda generate`: manual pages and completions, when the command is built.

use crate::fail::{Fail, Result};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::PathBuf;

/// Write manual pages and shell completions into a folder
#[derive(clap::Args)]
pub struct Args {
    /// The folder, which is made if need be
    folder: PathBuf,
}

/// The synopsis, in which options have their values.
fn synopsis(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let roman = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let name = command.get_bin_name().unwrap_or(command.get_name());
    write!(page, ".SH SYNOPSIS\n\\fB{}\\fR", roman(name))?;
    let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let (operands, options): (Vec<_>, Vec<_>) = visible.partition(|arg| arg.is_positional());
    for arg in options.iter().chain(&operands) {
        let short = arg.get_short().map(|c| format!("\\-{c}"));
        let long = arg.get_long().map(|name| format!("\\-\\-{}", roman(name)));
        let flags: Vec<_> = short.into_iter().chain(long).map(|flag| format!("\\fB{flag}\\fR")).collect();
        let takes_values = arg.get_action().takes_values();
        let names = arg.get_value_names().filter(|_| takes_values).unwrap_or_default();
        let mut text = flags.join("|");
        for name in names {
            text += &format!("{}\\fI{}\\fR", if text.is_empty() { "" } else { " " }, roman(name));
        }
        let repeats = matches!(arg.get_action(), clap::ArgAction::Append);
        let text = if arg.is_required_set() { text } else { format!("[{text}]") };
        write!(page, " {text}{}", if repeats { "..." } else { "" })?;
    }
    if command.has_subcommands() {
        write!(page, " \\fICOMMAND\\fR ...")?;
    }
    writeln!(page)
}

/// The manual page of a command. The lines of its examples are kept.
fn page(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    synopsis(command, &mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    writeln!(page, ".SH NOTES")?;
    let notes = command.get_after_long_help().or(command.get_after_help());
    let mut in_text = false;
    for line in notes.map(ToString::to_string).unwrap_or_default().lines() {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        match line.starts_with(' ') {
            true => write!(page, ".nf\n{escaped}\n.fi\n")?,
            false => writeln!(page, "{}{escaped}", if in_text { "" } else { ".PP\n" })?,
        }
        in_text = !line.starts_with(' ');
    }
    Ok(page)
}

pub fn run(args: &Args) -> Result<()> {
    let write = || -> io::Result<()> {
        std::fs::create_dir_all(&args.folder)?;
        let mut command = crate::Cli::command().disable_help_subcommand(true);
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            clap_complete::generate_to(shell, &mut command, "scda", &args.folder)?;
        }
        command.build();
        std::fs::write(args.folder.join("scda.1"), page(&command)?)?;
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = format!("scda-{}", sub.get_name());
            std::fs::write(args.folder.join(format!("{name}.1")), page(sub)?)?;
        }
        Ok(())
    };
    write().map_err(|e| Fail::file(&args.folder.display().to_string(), e))
}
