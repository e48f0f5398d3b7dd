"""The command `l2sr` of an installed package: the program that lies in it."""

import os
import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    program = Path(__file__).parent / "bin" / "l2sr"
    os.execv(program, [sys.argv[0], *sys.argv[1:]])
