"""A time of day that a test sets for a process of its own, and steps on files that end the process, fail or wait.

Both are done by a library that is loaded before the C library, so that the product has no switch for them. A process with
a sanitizer cannot have it: the sanitizer wants to be first.
"""

import functools
import mmap
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from .sanitizer import SANITIZER

without_sanitizer = pytest.mark.skipif(bool(SANITIZER), reason="the sanitizer's library has to be loaded first")


@functools.cache
def library() -> Path:
    source = Path(__file__).with_name("interposed.c")
    made = Path(tempfile.mkdtemp(prefix="interposed-")) / "interposed.so"
    command = ["cc", "-std=gnu11", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", str(made), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return made


class Clock:
    """The time of day of every process with ``environment``: this machine's, and `offset` seconds."""

    def __init__(self, directory: Path):
        path = directory / "clock"
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(library()), "INTERPOSED_CLOCK": str(path)}

    @property
    def offset(self) -> int:
        return struct.unpack("=q", self._page[:8])[0]

    @offset.setter
    def offset(self, seconds: int) -> None:
        self._page[:8] = struct.pack("=q", seconds)


def watching(directory: Path, journal: Path | None = None, step: int = 0, action: str = "") -> dict[str, str]:
    """The environment of a process whose steps on files in `directory` are counted. The one with the number `step` kills
    the process before it is taken, or fails as on a full disk."""
    environment = {"LD_PRELOAD": str(library()), "INTERPOSED_DIRECTORY": str(directory), "INTERPOSED_STEP": str(step)}
    if journal:
        environment["INTERPOSED_STEPS"] = str(journal)
    if action:
        assert action in ("kill", "fail")
        environment["INTERPOSED_ACTION"] = action
    return environment


class Gate:
    """Where a process waits that has just made a file whose name ends as the test says, until ``open`` is called."""

    def __init__(self, directory: Path, end: str):
        self.path = directory / "gate"
        os.mkfifo(self.path)
        self.environment = {"LD_PRELOAD": str(library()), "INTERPOSED_HELD": end, "INTERPOSED_GATE": str(self.path)}

    def open(self) -> None:
        os.close(os.open(self.path, os.O_WRONLY))
