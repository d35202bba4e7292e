"""The command line of the package, such as `python -m scda vtk dam.scda`. The command `scda` runs it, too."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import warnings
from typing import Any, Callable, Optional, Sequence, Union

from . import Error, __version__, _commands, _errors
from ._progress import Progress, tell

# Exit codes, the same as those of the command scda: the answer is no, another failure, and something was left out.
_NO = 1
_TROUBLE = 2
_INCOMPLETE = 3
_INVALID = (
    *(_errors.FormatError, _errors.DecodeError, _errors.ShortFileError, _errors.VersionError, _errors.RangeError),
    _errors.ChecksumError,
)


# Packages that a command may need and that are not installed with this one.
_EXTRAS = {"h5py": "h5py", "zarr": "'zarr>=3.1'", "xarray": "xarray"}


class Incomplete(Exception):
    """Raised when a command has done its work, but left something out."""


def vtk(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("copy", "absolute", "relative", "field", "group", "force")}
    lines, left_out = _commands.vtk(arguments.file, arguments.output, **options)
    print("\n".join(map(_visible, lines)))
    for what in left_out:
        _tell(f"{arguments.file}: left out: {what}")
    if left_out:
        raise Incomplete(f"{arguments.file}: {len(left_out)} left out, all else is in the new file")


def import_file(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("without", "strict", "external", "force")}
    options["seal"], options["hdf5"] = not arguments.no_seal, arguments.hdf5
    progress = Progress(arguments.file)
    left_out = _commands.import_(arguments.file, arguments.out, **options, tell=_tell, progress=progress)
    if left_out:
        raise Incomplete(f"{arguments.file}: {len(left_out)} left out, all else is in {arguments.out}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scda", description="What the Python package scda makes of scda files")
    parser.add_argument("--version", action="version", version=f"scda {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        run: Callable[[argparse.Namespace], None], name: str, text: str, file: tuple[str, str]
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(run=run)
        command.add_argument("file", metavar=file[0], help=file[1])
        command.add_argument("-f", "--force", action="store_true", help="replace OUT if it exists")
        return command

    file = "FILE", "a file with a forest"
    command = add(vtk, "vtk", "Write a VTKHDF file, by which ParaView and others show a forest", file)
    text = "the VTKHDF file; if not given, the name of FILE with the ending .vtkhdf"
    command.add_argument("-o", "--output", metavar="OUT", help=text)
    how = command.add_mutually_exclusive_group()
    text = "copy all data, as is done by itself up to 64 MiB: OUT can be used without FILE"
    how.add_argument("--copy", action="store_true", help=text)
    text = "leave data in FILE, and refer to it by its absolute path, as is done by itself above"
    how.add_argument("--absolute", action="store_true", help=text)
    text = "leave data in FILE, and refer to it by its path from the folder of OUT"
    how.add_argument("--relative", action="store_true", help=text)
    text = "only this field; can be given several times"
    command.add_argument("--field", metavar="NAME", action="append", help=text)
    text = "the forest; if not given, the only one of FILE"
    command.add_argument("--group", metavar="NAME", help=text)

    text = "Make a file from one of HDF5, NetCDF, NumPy (.npz), SDF or Zarr"
    command = add(import_file, "import", text, ("IN", "the file to import"))
    command.add_argument("out", metavar="OUT", help="the file to write")
    _add_without(command)
    text = "stop at the first thing that an scda file has no place for, instead of leaving it out"
    command.add_argument("--strict", action="store_true", help=text)
    text = "also read the data that an HDF5 file has in other files"
    command.add_argument("--external", action="store_true", help=text)
    command.add_argument("--no-seal", action="store_true", help="do not seal the new file")
    words = "whether programs for HDF5 can also read the new file"
    command.add_argument("--hdf5", action=argparse.BooleanOptionalAction, default=True, help=words)
    return parser


def _add_without(command: argparse.ArgumentParser) -> None:
    text = "leave out the datasets of this name, which may be a pattern"
    command.add_argument("--without", metavar="NAME", action="append", default=[], help=text)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs a command, and returns its exit code."""
    given = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)  # runs the clean-up that removes incomplete files
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            given.run(given)
    except BrokenPipeError:
        # Nobody reads the output any more. Keeps Python from flushing stdout again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Error as error:
        return _complain(str(error), _NO if isinstance(error, _INVALID) else _TROUBLE)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        hint = f"{sys.executable} -m pip install {_EXTRAS[error.name]}"
        return _complain(f"{given.command}: {error}; this command needs it: {hint}", _TROUBLE)
    except OSError as error:
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return _complain(f"{where}{error.strerror or error}", _TROUBLE)
    except Incomplete as error:
        return _complain(str(error), _INCOMPLETE)
    return 0


def _warn(message: Union[Warning, str], *_: Any, **__: Any) -> None:
    _tell(str(message))


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


def _tell(text: str) -> None:
    _complain(text, 0)


def _complain(text: str, code: int) -> int:
    tell(f"scda: {_visible(text)}\n")
    return code


def _visible(text: str) -> str:
    """Shows arguments of functions as options of the command, and escapes characters that would control the
    terminal."""
    text = re.sub(" (without|group)= ?", r" --\1 ", re.sub(" (force|strict|external)=True", r" --\1", text))
    return "".join(c if c.isprintable() or c in " \n" else c.encode("unicode_escape").decode() for c in text)


if __name__ == "__main__":
    sys.exit(main())
