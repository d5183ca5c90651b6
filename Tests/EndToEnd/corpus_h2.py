"""Runs a file of raw HTTP/2 cases against a gateway with a recording backend behind it.

The file's own `meta` says how a case is read: `raw_b64` is all that a client sends on one new connection. The verdict
on a case is what the backend saw: a whole request or none.
"""

import base64
import json
import socket
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness import h2raw
from harness.backend import RecordingBackend
from harness.sanitizer import PATIENCE

# A gateway that waits for more input keeps the connection open; this long is taken for "waits".
SILENCE_SECONDS = 0.4 * PATIENCE
# More than this of one connection's requests at the backend is not "bounded".
BOUNDED_REQUESTS = 200


@dataclass
class Outcome:
    case: dict
    statuses: list[int]
    resets: list[int]
    goaways: list[int]
    closed: bool
    seen: list[tuple[str, str, bytes]]

    @property
    def met(self) -> bool:
        """Whether the case went as the corpus expects."""
        refused = bool(self.resets or any(self.goaways)) or any(400 <= status < 500 for status in self.statuses)
        match self.case["expect"]:
            case "accept":
                return bool(self.statuses) and all(status == 200 for status in self.statuses) and len(self.seen) == 1
            case "reject":
                return refused and not self.seen
            case "conn_error":
                return any(self.goaways) and self.closed and not self.seen
            case "bounded":
                return self.closed and len(self.seen) <= BOUNDED_REQUESTS
            case _:
                return True

    def __str__(self) -> str:
        case = self.case
        return (
            f"{case['id']} {case['expect']} {case.get('level', '')} ({case['name']}): answered {self.statuses}, "
            f"RST_STREAM {self.resets}, GOAWAY {self.goaways}{', closed' if self.closed else ''}; "
            f"backend saw {[f'{method} {target}' for method, target, _ in self.seen]}"
        )


def load(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cases"]


def run_case(port: int, backend: RecordingBackend, case: dict) -> Outcome:
    backend.forget()
    # The case brings its own acknowledgement of the gateway's SETTINGS.
    connected = socket.create_connection(("127.0.0.1", port), timeout=SILENCE_SECONDS)
    connection = h2raw.H2Connection.on(connected, acknowledges=False)
    with connection:
        try:
            connection.send(base64.b64decode(case["raw_b64"]))
        except OSError:
            # Closed while sending; what it said before is still to be read.
            pass
        try:
            connection.rest()
        except TimeoutError:
            pass
        except OSError:
            connection.closed = True
    # Closing cancels what is in flight; what reached the backend whole has been recorded by its thread by then.
    end = time.monotonic() + 0.5
    while any(not request.complete for request in backend.requests) and time.monotonic() < end:
        if all(backend.connection_of(request).closed_by_peer.is_set() for request in backend.requests):
            break
        time.sleep(0.005)
    streams = connection.streams.values()
    return Outcome(
        case,
        [stream.status for stream in streams if stream.headers],
        [stream.reset for stream in streams if stream.reset is not None],
        [found.code for found in connection.goaways],
        connection.closed,
        [(request.method, request.target, request.body) for request in backend.requests if request.complete],
    )


def summary(outcomes: list[Outcome]) -> str:
    """One line for each kind of case: how many went as expected."""
    total, met = Counter(), Counter()
    for outcome in outcomes:
        kind = f"{outcome.case['expect']} {outcome.case.get('level', '')}".strip()
        total[kind] += 1
        met[kind] += outcome.met
    return "\n".join(f"{kind}: {met[kind]} of {total[kind]} as expected" for kind in sorted(total))
