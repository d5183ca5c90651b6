"""Runs a file of raw HTTP/1.1 cases against a gateway with a recording backend behind it.

The file's own `meta` says how a case is read: `raw_b64` are the exact bytes for one new connection; a reject is met by
a 4xx or 5xx answer with the connection's end, or by its end without an answer, and by the backend never seeing more
than `origin_max` requests; an accept is met by another answer and the backend seeing exactly `origin`.
"""

import base64
import json
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness import raw
from harness.backend import RecordingBackend

# A gateway that waits for more input keeps the connection open; this long is taken for "waits".
SILENCE_SECONDS = 0.25
REFUSALS = {400, 408, 411, 413, 414, 417, 431, 501, 505}


@dataclass
class Outcome:
    case: dict
    statuses: list[int]
    closed: bool
    seen: list[tuple[str, str, bytes]]

    @property
    def forwarded_too_much(self) -> bool:
        return len(self.seen) > self.case["origin_max"]

    @property
    def met(self) -> bool:
        """Whether the case went as the corpus expects."""
        case = self.case
        if case["expect"] == "reject":
            return not self.forwarded_too_much and self.closed
        if case["expect"] == "accept":
            wanted = [
                (request["method"], request["target"], base64.b64decode(request["body_b64"])) for request in case["origin"]
            ]
            return self.seen == wanted and not any(status in REFUSALS for status in self.statuses)
        return not self.forwarded_too_much

    def __str__(self) -> str:
        case = self.case
        seen = [f"{method} {target}" for method, target, _ in self.seen]
        return (
            f"{case['id']} {case['expect']} {case.get('level', '')} ({case.get('why', case['name'])}): "
            f"answered {self.statuses}{', closed' if self.closed else ''}; backend saw {seen}\n    {case['raw_text'][:200]}"
        )


def load(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cases"]


def run_case(port: int, backend: RecordingBackend, case: dict) -> Outcome:
    backend.forget()
    connection = raw.RawConnection(port, timeout=SILENCE_SECONDS)
    received, closed = b"", False
    try:
        connection.send(base64.b64decode(case["raw_b64"]))
        while True:
            data = connection.socket.recv(65536)
            if not data:
                closed = True
                break
            received += data
    except TimeoutError:
        pass
    except OSError:
        closed = True
    finally:
        connection.close()
    # Closing cancels what is still in flight; whatever reached the backend has been recorded by its thread by now,
    # except for a body's last bytes: give those a moment.
    end = time.monotonic() + 0.5
    while any(not request.complete for request in backend.requests) and time.monotonic() < end:
        if all(backend.connection_of(request).closed_by_peer.is_set() for request in backend.requests):
            break
        time.sleep(0.005)
    seen = [
        (request.method, request.target, request.body) for request in backend.requests if request.complete
    ]
    return Outcome(case, statuses(received), closed, seen)


def statuses(received: bytes) -> list[int]:
    """The status codes of the responses in a byte stream, as far as they can be told apart."""
    found = []
    while received.startswith(b"HTTP/1.1 "):
        head, separator, rest = received.partition(b"\r\n\r\n")
        found.append(int(head[9:12]))
        if not separator:
            break
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        received = rest[length:] if rest[length:].startswith(b"HTTP/1.1 ") else rest
        if not received.startswith(b"HTTP/1.1 "):
            break
    return found


def summary(outcomes: list[Outcome]) -> str:
    """One line for each kind of case: how many went as expected."""
    total, met = Counter(), Counter()
    for outcome in outcomes:
        kind = f"{outcome.case['expect']} {outcome.case.get('level', '')}".strip()
        total[kind] += 1
        met[kind] += outcome.met
    return "\n".join(f"{kind}: {met[kind]} of {total[kind]} as expected" for kind in sorted(total))
