"""Calls for addresses in different states, compared: the responses to them, and how long they take."""

import itertools
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from . import raw
from .account import Account
from .cognito_front import CognitoFront

# A client's calls for an address, with the responses.
Call = Callable[[Account, str], list[raw.Response]]
Times = dict[tuple[str, str], list[float]]
VOLATILE = ("x-request-id", "date", "retry-after")
_numbers = itertools.count(1)


def new_address() -> str:
    """As long as every other one, since responses hold it sealed."""
    return f"user{next(_numbers):06}@transcripts.example"


def posting(bodies: dict[str, Callable[[str], dict]], path: str | None = None) -> dict[str, Call]:
    """Account calls, from the body that each has for an address.

    :param path: of all of them; without it each one's is its name.
    """
    return {
        name: lambda account, email, name=name: [account.post(path or name, bodies[name](email))] for name in bodies
    }


def shape(answer: raw.Response) -> tuple:
    """All of a response that is not of this one request. Values that are random or sealed count by their length."""
    body = answer.json() if answer.body else None
    if body:
        body.pop("requestId", None)
        if "session" in body:
            body["session"] = len(body["session"])
        options = body.get("parameters", {}).get("options", {})
        if "challenge" in options:
            options["challenge"] = len(options["challenge"])
    return answer.status, body, [(name, value) for name, value in answer.headers if name.lower() not in VOLATILE]


def shape_for(email: str, answer: raw.Response) -> tuple:
    status, body, headers = shape(answer)
    # A pool that hides its users makes the destination up for those who are not there.
    assert email not in str(body)
    return status, body, headers


def rotations(calls: Iterable[str]) -> list[tuple[str, ...]]:
    """Each call once in each place of a sequence of all."""
    names = list(calls)
    return [tuple(names[index:] + names[:index]) for index in range(len(names))]


class Stage:
    """Plays calls for new addresses. The states of a group must look alike."""

    def __init__(
        self,
        account: Account,
        calls: dict[str, Call],
        groups: list[list[str]],
        address: Callable[[str], str],
        front: CognitoFront | None = None,
    ):
        """
        :param address: makes one in a state, of somebody else's.
        :param front: what the gateway calls in place of Cognito. With it, the operations must be the same too.
        """
        self.account = account
        self.calls = calls
        self.groups = groups
        self.address = address
        self.front = front
        self.times: Times = {}

    def play(self, sequences: Iterable[tuple[str, ...]]) -> "Stage":
        """Plays each sequence for an address in each state, and compares the responses within the groups."""
        states = [state for group in self.groups for state in group]
        # The states come in turn, so that other work on the machine delays all of them alike.
        jobs = [(sequence, state) for sequence in sequences for state in states]
        with ThreadPoolExecutor(1 if self.front else 2) as pool:
            answered = dict(zip(jobs, pool.map(self._play, jobs)))
        for sequence, state in jobs:
            like = next(group[0] for group in self.groups if state in group)
            assert answered[sequence, state] == answered[sequence, like], (sequence, state)
        return self

    def _play(self, job: tuple[tuple[str, ...], str]) -> list[tuple]:
        sequence, state = job
        email, shapes = self.address(state), []
        for name in sequence:
            if self.front:
                self.front.calls.clear()
            began = time.monotonic()
            answers = self.calls[name](self.account, email)
            self.times.setdefault((name, state), []).append(time.monotonic() - began)
            shapes += [shape_for(email, answer) for answer in answers]
            if self.front:
                shapes.append((name, self.front.operations()))
        return shapes

    def assert_times_alike(self) -> None:
        assert_times_alike(self.times, self.groups)

    def compare_times(self, sequences: list[tuple[str, ...]], rounds: int = 3) -> None:
        """Plays the sequences, and again where a call has taken longer in one state: other work on the machine does not
        delay the same one each time, and a difference between the states stays."""
        for left in reversed(range(rounds)):
            self.play(sequences)
            try:
                return self.assert_times_alike()
            except AssertionError:
                if not left:
                    raise


def assert_times_alike(times: Times, groups: list[list[str]]) -> None:
    """Coarse, since other work shares the machine: what would be left out is most of a password's hashing, of which
    half is a difference, and 30 ms are. The quickest of each are compared: other work only ever adds to a time."""
    slack = max(0.03, min(min(times["login", state]) for state in groups[0]) / 2)
    for call in {name for name, _ in times}:
        for group in groups:
            quickest = {state: min(times[call, state]) for state in group}
            assert max(quickest.values()) < 2 * min(quickest.values()) + slack, (call, quickest)
