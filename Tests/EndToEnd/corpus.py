"""Runs a file of raw HTTP/1.1 cases against a gateway with a recording backend behind it.

`cases` is a list. Each case is one new connection, on which exactly the case's bytes are sent: `raw` (a string whose
characters are the bytes) or `raw_b64`. `expect` says what must come of it:

- `reject`: a 4xx or 5xx answer and the connection's end, or its end without an answer, and the backend never sees more
  than `origin_max` requests. `level` says how much that matters: must, should, hardening or policy.
- `accept`: as many answers as there are requests in `origin`, none of them a refusal, and the backend sees exactly those
  (`method`, `target`, `body` or `body_b64`) in this order. An absolute-form target stands for what RFC 9112 §3.2.2 makes
  of it: its path and query in origin-form, and its authority as Host.
- `either`: both will do, but a request that reaches the backend carries the Host that the client named.
- `incomplete`: the last request is not whole. Before it, the backend sees at most `origin_max` others; they are answered.
"""

import base64
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from harness import raw
from harness.backend import RecordingBackend, Request

# Responses come within milliseconds; this is for a busy machine, and only a case that fails waits so long.
PATIENCE_SECONDS = 5.0
# How long nothing more must come where nothing is expected.
SILENCE_SECONDS = 0.1
REFUSALS = {400, 408, 411, 413, 414, 417, 431, 501, 505}
ABSOLUTE_FORM = re.compile(r"https?://([^/?#]*)(.*)", re.IGNORECASE)


@dataclass
class Outcome:
    case: dict
    statuses: list[int]
    closed: bool
    seen: list[Request]

    @property
    def forwarded_too_much(self) -> bool:
        return len(self.seen) > self.case["origin_max"]

    @property
    def met(self) -> bool:
        """Whether the case went as it is to go."""
        match self.case["expect"]:
            case "reject":
                refused = not self.statuses or self.statuses[-1] >= 400
                return refused and self.closed and not self.forwarded_too_much
            case "accept":
                answered = len(self.statuses) == len(self.case["origin"]) and not REFUSALS.intersection(self.statuses)
                return answered and self._backend_saw_origin()
            case "incomplete":
                answered = sum(status < 400 for status in self.statuses)
                return not self.forwarded_too_much and answered <= self.case["origin_max"]
            case _:
                return self._no_request_went_astray()

    def _backend_saw_origin(self) -> bool:
        return len(self.seen) == len(self.case["origin"]) and all(
            request.method == wanted["method"]
            and request.target == origin_form(wanted["target"])
            and request.body == body_of(wanted)
            and names_authority(request, wanted["target"])
            for request, wanted in zip(self.seen, self.case["origin"], strict=True)
        )

    def _no_request_went_astray(self) -> bool:
        line = bytes_of(self.case).split(b"\r\n")[0].decode("latin-1").split(" ")
        sent = line[1] if len(line) > 1 else ""
        return all(request.complete and names_authority(request, sent) for request in self.seen[:1])

    def __str__(self) -> str:
        case = self.case
        seen = [f"{request.method} {request.target}" for request in self.seen]
        return (
            f"{case['id']} {case['expect']} {case.get('level', '')} ({case.get('why') or case.get('name', '')}): "
            f"answered {self.statuses}{', closed' if self.closed else ''}; backend saw {seen}\n"
            f"    {bytes_of(case)[:200]!r}"
        )


def origin_form(target: str) -> str:
    found = ABSOLUTE_FORM.fullmatch(target)
    if not found:
        return target
    return found[2] if found[2].startswith("/") else "/" + found[2]


def names_authority(request: Request, target: str) -> bool:
    """Whether the backend's Host is the authority of an absolute-form target."""
    found = ABSOLUTE_FORM.fullmatch(target)
    return not found or request.all("host") == [found[1]]


def bytes_of(case: dict) -> bytes:
    return base64.b64decode(case["raw_b64"]) if "raw_b64" in case else case["raw"].encode("latin-1")


def body_of(wanted: dict) -> bytes:
    return base64.b64decode(wanted["body_b64"]) if "body_b64" in wanted else wanted.get("body", "").encode("latin-1")


def load(path: Path) -> list[dict]:
    return json.loads(path.read_text())["cases"]


def run_case(port: int, backend: RecordingBackend, case: dict) -> Outcome:
    backend.forget()
    received, closed = _talk(port, case)
    # Closing cancels what is still in flight; whatever reached the backend has been recorded by its thread by now,
    # except for a body's last bytes: give those a moment.
    end = time.monotonic() + 0.5
    while any(not request.complete for request in backend.requests) and time.monotonic() < end:
        if all(backend.connection_of(request).closed_by_peer.is_set() for request in backend.requests):
            break
        time.sleep(0.005)
    seen = [request for request in list(backend.requests) if request.complete]
    return Outcome(case, statuses(received), closed, seen)


def _talk(port: int, case: dict) -> tuple[bytes, bool]:
    """Sends the case's bytes and reads until all that is expected has come, or nothing comes any more."""
    wanted = {"reject": None, "accept": len(case.get("origin", [])), "either": 1, "incomplete": 0}[case["expect"]]
    received = b""
    connection = raw.RawConnection(port)
    try:
        connection.send(bytes_of(case))
        while True:
            enough = wanted is not None and len(statuses(received)) >= wanted
            connection.socket.settimeout(SILENCE_SECONDS if enough else _patience(case))
            data = connection.socket.recv(65536)
            if not data:
                return received, True
            received += data
    except TimeoutError:
        return received, False
    except OSError:
        return received, True
    finally:
        connection.close()


def _patience(case: dict) -> float:
    # Among these are incomplete requests, which are simply waited on.
    return SILENCE_SECONDS * 3 if case["expect"] == "either" else PATIENCE_SECONDS


def statuses(received: bytes) -> list[int]:
    """The status codes of the final responses in a byte stream whose responses are sized, as the gateway's are here."""
    found = []
    while received.startswith(b"HTTP/1.1 "):
        head, separator, received = received.partition(b"\r\n\r\n")
        status = int(head[9:12])
        if not separator:
            break
        if status >= 200:
            found.append(status)
        length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
        if length and received[:9] != b"HTTP/1.1 ":
            received = received[int(length[1]) :]
    return found


def summary(outcomes: list[Outcome]) -> str:
    """One line for each kind of case: how many went as expected."""
    total, met = Counter(), Counter()
    for outcome in outcomes:
        kind = f"{outcome.case['expect']} {outcome.case.get('level', '')}".strip()
        total[kind] += 1
        met[kind] += outcome.met
    return "\n".join(f"{kind}: {met[kind]} of {total[kind]} as expected" for kind in sorted(total))
