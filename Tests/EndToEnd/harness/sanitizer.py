"""Runs against a gateway that was built with a sanitizer: longer waits, and reports that no test may leave behind.

`GATEHOUSE_SANITIZER` names the sanitizer, `thread` or `address`; `GATEHOUSE_SANITIZER_REPORTS` the directory that every
process writes its reports to. Tests/Sanitize/run.sh sets both.
"""

import os
import threading
from pathlib import Path

SANITIZER = os.environ.get("GATEHOUSE_SANITIZER", "")
_directory = os.environ.get("GATEHOUSE_SANITIZER_REPORTS", "")

# How many times longer everything that is waited for may take.
PATIENCE = {"": 1, "thread": 6, "address": 4}[SANITIZER]


class PatientEvent(threading.Event):
    """An event whose limits are those of a run without a sanitizer."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else timeout * PATIENCE)


def reports() -> list[Path]:
    """The sanitizer's reports until now; none is ever removed."""
    return sorted(Path(_directory).iterdir()) if _directory else []


def options() -> dict[str, str]:
    """For a process that gets no other part of this environment, and cannot write to the reports' directory: a report
    is in its own log, and its exit status tells of it."""
    names = {"address": ["ASAN_OPTIONS"], "thread": ["TSAN_OPTIONS"]}.get(SANITIZER, [])
    return {
        name: ":".join(option for option in os.environ[name].split(":") if not option.startswith("log_path="))
        for name in names
    }
