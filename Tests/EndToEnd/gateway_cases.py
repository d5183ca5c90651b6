"""Runs a file of path and header cases against a gateway that opens `/public` to everyone and nothing else.

The gateway tells the subject, which is `user-1`, in `X-User-Id`, and takes a token from the cookie `session` as well.
Whatever a case says of the answer, what the backend saw decides.

A case of `path` has `method`, `target` and `headers`, whose characters are bytes, and is sent without a token. Its
`expect` is one of

- `no_origin_hit`: refused, and the backend saw nothing;
- `public`: the backend saw the target byte for byte, or it was refused where it holds `%2F` or `;`;
- `public_but_header_dropped`: the backend saw the target, and none of the case's headers.

A case of `spoof` has `headers`, raw lines in which `{TOKEN}` and `{SESSION}` are filled in. What its `expect` says is
looked up in EXPECTATIONS by how it begins. Where it speaks of HTTP/2 the lines are sent over both versions.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import h2raw, raw
from harness.backend import RecordingBackend, Request
from harness.h2raw import H2Connection

SUBJECT = "user-1"
CONFIGURATION = {
    "routes": [
        {"name": "public", "path": "/public/**", "access": "public", "upstream": "recorder"},
        {"name": "rest", "path": "/**", "access": "required", "upstream": "recorder", "token_cookie": "session"},
    ],
    "identity": {"claims": {"X-User-Id": "sub"}},
    "threads": 1,
}
# TRACE is refused for its method.
NO_ORIGIN_HIT = {301, 308, 400, 401, 403, 404, 405}


@dataclass
class Outcome:
    case: dict
    statuses: list[int]
    seen: list[Request]
    fault: str | None

    def __str__(self) -> str:
        seen = [request.raw_head for request in self.seen]
        return f"{self.case['id']} {self.case.get('target') or self.case['headers']}: {self.fault}; answered {self.statuses}; backend saw {seen}"


def normalised(name: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in name.lower())


def identities(request: Request) -> list[str]:
    return [value for name, value in request.headers if normalised(name) == "x-user-id"]


def cookies(request: Request) -> list[str]:
    return [pair.strip() for value in request.all("cookie") for pair in value.split(";")]


def load(path: Path) -> tuple[list[dict], list[dict]]:
    document = json.loads(path.read_text())
    return document["path"], document["spoof"]


def send(port: int, method: str, target: str, lines: list[str], version: int = 1) -> int:
    """The status, 400 where there is none."""
    if version == 2:
        fields = [tuple(part.strip() for part in line.split(":", 1)) for line in lines]
        with H2Connection(port) as connection:
            stream = connection.open(h2raw.request(method, target, *((name.lower(), value) for name, value in fields)))
            return connection.response(stream).status or 400
    head = "\r\n".join([f"{method} {target} HTTP/1.1", "Host: gw.test", *lines]) + "\r\n\r\n"
    with raw.RawConnection(port) as connection:
        connection.send(head.encode("latin-1"))
        try:
            return connection.response(to=method).status
        except raw.ConnectionClosed:
            return 400


def run_path_case(port: int, backend: RecordingBackend, case: dict) -> Outcome:
    backend.forget()
    status = send(port, case["method"], case["target"], case["headers"])
    seen = list(backend.requests)
    return Outcome(case, [status], seen, path_fault(case, status, seen))


def path_fault(case: dict, status: int, seen: list[Request]) -> str | None:
    if case["expect"] == "no_origin_hit":
        return None if status in NO_ORIGIN_HIT and not seen else "it should have been refused"
    refusable = "%2f" in case["target"].lower() or ";" in case["target"]
    if status in NO_ORIGIN_HIT and refusable and not seen:
        return None
    if status != 200 or [request.target for request in seen] != [case["target"]]:
        return "the backend did not get the target as it was sent"
    if case["expect"] == "public_but_header_dropped":
        dropped = [line.split(":", 1)[1].strip() for line in case["headers"]]
        return "a header was not dropped" if any(value.encode() in seen[0].raw_head for value in dropped) else None
    return None


# Where the corpus says that the origin sees one identity value, a refusal is right as well: it does not say of which cases.
def one_identity(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    return statuses == [400] and not seen or statuses == [200] and [identities(each) for each in seen] == [[SUBJECT]]


def no_identity(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    return statuses == [200] and len(seen) == 1 and not identities(seen[0])


def from_the_socket(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    told = [(each.all("x-forwarded-for"), each.all("x-forwarded-host"), each.all("x-forwarded-proto")) for each in seen]
    return statuses == [200] and told == [(["127.0.0.1"], ["gw.test"], ["http"])]


# The corpus leaves the rule open ("200 or 401") and asks that both versions follow the same one.
def same_on_both(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    hits = [identities(each) for each in seen]
    return statuses == [200, 200] and hits == [[SUBJECT]] * 2 or len(set(statuses)) == 1 and statuses[0] in (400, 401) and not hits


def not_read_from_the_query(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    return statuses == [401] and not seen


def other_cookies_only(_: dict, statuses: list[int], seen: list[Request]) -> bool:
    return statuses == [200] and [cookies(each) for each in seen] == [["a=1", "b=2"]]


@dataclass
class Expectation:
    holds: Callable[[dict, list[int], list[Request]], bool]
    target: str = "/api/x"
    versions: tuple[int, ...] = (1,)


EXPECTATIONS = {
    "origin sees exactly one identity value": Expectation(one_identity),
    "origin sees no identity header at all": Expectation(no_identity, target="/public/x"),
    "client address, host and scheme": Expectation(from_the_socket),
    "200 or 401, same on h1 and h2": Expectation(same_on_both, versions=(1, 2)),
    "401 or first-wins by rule; same on h1 and h2": Expectation(same_on_both, versions=(1, 2)),
    "?access_token= is not read": Expectation(not_read_from_the_query, target="/api/x?access_token={TOKEN}"),
    "origin sees a=1; b=2": Expectation(other_cookies_only),
}


def run_spoof_case(port: int, backend: RecordingBackend, case: dict, token: str) -> Outcome:
    backend.forget()
    expectation = next(found for begin, found in EXPECTATIONS.items() if case["expect"].startswith(begin))
    filled = [line.replace("{TOKEN}", token).replace("{SESSION}", token) for line in case["headers"]]
    target = expectation.target.replace("{TOKEN}", token)
    statuses = [send(port, "GET", target, filled, version) for version in expectation.versions]
    seen = list(backend.requests)
    return Outcome(case, statuses, seen, None if expectation.holds(case, statuses, seen) else case["expect"])
