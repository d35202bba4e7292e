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
_EXTRAS = ("h5py", "xarray")


class Incomplete(Exception):
    """Raised when a command has done its work, but left something out."""


def _objects(left_out: Sequence[object]) -> str:
    return "1 object was" if len(left_out) == 1 else f"{len(left_out)} objects were"


def vtk(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("copy", "absolute", "relative", "field", "group", "force")}
    lines, left_out = _commands.vtk(arguments.file, arguments.output, **options)
    print("\n".join(map(_visible, lines)))
    for what in left_out:
        _tell(f"{arguments.file}: left out: {what}")
    if left_out:
        raise Incomplete(f"{arguments.file}: {_objects(left_out)} left out; the new file has everything else")


def import_file(arguments: argparse.Namespace) -> None:
    options = {name: getattr(arguments, name) for name in ("without", "strict", "external", "force")}
    options["seal"], options["hdf5"] = not arguments.no_seal, arguments.hdf5
    progress = Progress(arguments.file)
    left_out = _commands.import_(arguments.file, arguments.out, **options, tell=_tell, progress=progress)
    if left_out:
        raise Incomplete(f"{arguments.file}: {_objects(left_out)} left out; {arguments.out} has everything else")


def _parser() -> argparse.ArgumentParser:
    """The arguments that tools/scda/src/python.rs passes on; the help there explains them."""
    parser = argparse.ArgumentParser(prog="scda", description="Run the commands that are written in Python")
    parser.add_argument("--version", action="version", version=f"scda {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(run: Callable[[argparse.Namespace], None], name: str, *flags: str) -> argparse.ArgumentParser:
        text = f"see scda {name} --help"
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(run=run)
        command.add_argument("-f", "--force", action="store_true")
        for flag in flags:
            command.add_argument(flag, action="store_true")
        return command

    command = add(vtk, "vtk")
    command.add_argument("file", metavar="FILE")
    command.add_argument("-o", "--output", metavar="OUT")
    how = command.add_mutually_exclusive_group()
    for flag in ("--copy", "--absolute", "--relative"):
        how.add_argument(flag, action="store_true")
    command.add_argument("--field", metavar="NAME", action="append")
    command.add_argument("--group", metavar="NAME")

    command = add(import_file, "import", "--strict", "--external", "--no-seal")
    command.add_argument("file", metavar="IN")
    command.add_argument("out", metavar="OUT")
    command.add_argument("--without", metavar="NAME", action="append", default=[])
    command.add_argument("--hdf5", action=argparse.BooleanOptionalAction, default=True)
    return parser


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
        hint = f"{sys.executable} -m pip install {error.name}"
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
