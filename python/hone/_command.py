"""The `hone` command of the package: becomes the native program, which lies beside this file."""
from __future__ import annotations

import os
import sys


def program() -> str:
    """The path of the native program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "program", "bin", "hone")


def main() -> None:
    path = program()
    try:
        os.execv(path, ["hone", *sys.argv[1:]])
    except OSError as problem:
        sys.exit("hone: cannot start %s: %s; install the package again" % (path, problem.strerror))
