"""The command `l2sr` of an installed package: the program that lies in it."""

import os
import sys
from typing import NoReturn

from ._binding import place


def main() -> NoReturn:
    os.execv(place("bin", "l2sr"), [sys.argv[0], *sys.argv[1:]])
