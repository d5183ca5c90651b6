"""Ends processes and removes directories when the process of the tests is gone, also where that was killed.

A process of its own reads their list from a pipe. The pipe ends with the process of the tests, and no other has it.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

_lock = threading.Lock()
_guard: subprocess.Popen | None = None


def tie(pid: int) -> None:
    """The process and its descendants end with this one, if they have not ended before."""
    _tell({"pid": pid, "started": _started(pid)})


def tie_directory(directory: Path) -> None:
    _tell({"directory": str(directory)})


def _tell(entry: dict) -> None:
    global _guard
    with _lock:
        if _guard is None:
            # In a session of its own: what ends the tests from the keyboard does not end it.
            command = [sys.executable, "-I", str(Path(__file__).resolve())]
            _guard = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, start_new_session=True)
        print(json.dumps(entry), file=_guard.stdin, flush=True)


def _started(pid: int) -> str | None:
    """When the process was started, so that a later one with its number is not taken for it; nothing for one that has
    ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def children(pid: int) -> list[int]:
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(each) for each in path.read_text().split()]
        except (FileNotFoundError, ProcessLookupError):
            """The thread has ended meanwhile."""
    return found


def send(pid: int, number: int) -> bool:
    """Whether there was such a process."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def is_stopped(pid: int) -> bool:
    """Whether none of its threads runs any more. SIGSTOP reaches them one after the other."""
    states = set()
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.add(path.read_text().rsplit(")", 1)[1].split()[0])
        except (FileNotFoundError, ProcessLookupError):
            """The thread has ended meanwhile."""
    return states == {"T"}


def stopped_family(pid: int) -> list[int]:
    """Stops a process and all its descendants, each before its own are looked for: none begins another one meanwhile."""
    if not send(pid, signal.SIGSTOP):
        return []
    return [pid, *(each for child in children(pid) for each in stopped_family(child))]


def kill_family(pid: int) -> None:
    """Returns when the process and its descendants have ended."""
    family = {each: _started(each) for each in stopped_family(pid)}
    for each in family:
        send(each, signal.SIGKILL)
    for each, started in family.items():
        while started and _started(each) == started:
            time.sleep(0.002)


def main() -> None:
    entries = [json.loads(line) for line in sys.stdin]
    for entry in reversed(entries):
        if "pid" in entry and entry["started"] and _started(entry["pid"]) == entry["started"]:
            kill_family(entry["pid"])
    for entry in entries:
        if "directory" in entry:
            shutil.rmtree(entry["directory"], ignore_errors=True)


if __name__ == "__main__":
    main()
