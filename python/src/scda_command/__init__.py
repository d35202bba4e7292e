"""The command `scda` of the package scda. It loads only the extension, neither numpy nor the package."""

import importlib.machinery
import importlib.util
import os
import signal
import sys


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit code."""
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scda")
    spec = importlib.machinery.PathFinder.find_spec("scda._core", [folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"{folder}: there is no extension module _core")
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    # This interpreter runs the parts of the command that are in Python, unless another one is named.
    if not os.environ.get("SCDA_PYTHON"):
        os.environ["SCDA_PYTHON"] = sys.executable
    # Ctrl-C ends the command at once, instead of when it returns to Python.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int = core.command(["scda", *sys.argv[1:]])
    return code
