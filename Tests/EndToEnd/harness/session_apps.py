"""Apps that use their sessions without pause at several gateways, while these and their database fail. Each notes what it
was told: a session that it was told of must go on, and one that it was told is ended must not."""

import random
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from . import raw
from .process import wait_until
from .replicas import Replica, Replicas

# How long an app waits that got no answer, or one that tells it to come again.
PAUSE = 0.02


@dataclass
class Told:
    """Everything that an app was told, in all its sessions."""

    # The newest token of the session that goes on, with what the backend accepts of it.
    token: str = ""
    access: str = ""
    # Tokens of sessions that were ended, as the app was told.
    ended: list[tuple[str, str]] = field(default_factory=list)
    # Each token that was exchanged, with its successors.
    successors: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    # Each proof of a sign-in, with the number of sessions that it began.
    used: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    refreshes: int = 0
    refusals: int = 0
    # Events that must never happen.
    problems: list[str] = field(default_factory=list)


class SessionApp(threading.Thread):
    """Refreshes at whichever gateway answers; now and then signs out and in again."""

    def __init__(self, replicas: Replicas, seed: int):
        super().__init__(daemon=True)
        self.replicas = replicas
        self.told = Told()
        self.stopping = threading.Event()
        self._choice = random.Random(seed)
        self._failure: BaseException | None = None
        self._proof: dict | None = None

    def run(self) -> None:
        try:
            while not self.stopping.is_set() and not self.told.problems:
                if not self.step(self._choice.choice(self.replicas.gateways)):
                    self.stopping.wait(PAUSE)
        except BaseException as error:  # noqa: BLE001 (the test that waits for this app raises it)
            self._failure = error

    def step(self, gateway: Replica) -> bool:
        """Whether the gateway has done what was asked for."""
        if not self.told.token:
            return self._sign_in(gateway)
        if self._choice.random() < 0.02:
            return self._sign_out(gateway)
        return self._refresh(gateway)

    def end(self) -> None:
        """Ends the thread, and raises what has ended it before."""
        self.stopping.set()
        self.join(60)
        assert not self.is_alive()
        if self._failure:
            raise self._failure

    def _answer(self, call, *arguments, **more) -> raw.Response | None:
        """Nothing where the answer does not say whether it was done."""
        try:
            answer = call(*arguments, **more)
        except (OSError, raw.ConnectionClosed):
            return None
        if answer.status in (429, 500, 502, 503, 504):
            self.told.refusals += 1
            if answer.status != 503 or answer.header("retry-after") is None:
                self.told.problems.append(f"{answer.status} {answer.headers} {answer.body!r}")
            return None
        return answer

    def _sign_in(self, gateway: Replica) -> bool:
        raise NotImplementedError

    def _refresh(self, gateway: Replica) -> bool:
        raise NotImplementedError

    def _sign_out(self, gateway: Replica) -> bool:
        raise NotImplementedError

    def refused_everywhere(self, token: str, access: str) -> bool:
        raise NotImplementedError

    def goes_on(self, gateway: Replica) -> bool:
        """Whether the session that the app has is good at this gateway."""
        return self._refresh(gateway) and gateway.proxied(self.told.access) == 200

    def _began(self, token: str, access: str) -> None:
        self.told.token, self.told.access = token, access

    def _refreshed(self, answer: raw.Response, token: str, access: str) -> None:
        self.told.successors[self.told.token].add(token)
        if len(self.told.successors[self.told.token]) > 1:
            self.told.problems.append("a token has two successors")
        self.told.token, self.told.access = token, access
        self.told.refreshes += 1

    def _lost(self, answer: raw.Response, gateway: Replica) -> None:
        self.told.problems.append(
            f"a session was lost after {self.told.refreshes} refreshes: {answer.status} {answer.body!r} of {gateway.port}"
        )

    def _ended(self) -> None:
        self.told.ended.append((self.told.token, self.told.access))
        self.told.token = self.told.access = ""


class PoolApp(SessionApp):
    """With a user of its own in the pool."""

    def __init__(self, replicas: Replicas, seed: int):
        super().__init__(replicas, seed)
        self.user = replicas.user()

    def _sign_in(self, gateway: Replica) -> bool:
        answer = self._answer(gateway.account.login, *self.user)
        if answer is None:
            return False
        assert answer.status == 200, answer.body
        self._began(answer.json()["refresh_token"], answer.json()["access_token"])
        return True

    def _refresh(self, gateway: Replica) -> bool:
        answer = self._answer(gateway.account.refresh, self.told.token)
        if answer is None:
            return False
        if answer.status != 200:
            self._lost(answer, gateway)
            return False
        self._refreshed(answer, answer.json()["refresh_token"], answer.json()["access_token"])
        return True

    def _sign_out(self, gateway: Replica) -> bool:
        answer = self._answer(gateway.account.logout, refresh_token=self.told.token)
        while answer is None and not self.stopping.wait(PAUSE):
            # Nobody knows whether it was done. It is asked for until somebody does.
            answer = self._answer(self._choice.choice(self.replicas.gateways).account.logout, refresh_token=self.told.token)
        if answer is None:
            self._began("", "")
            return False
        # The session has ended already where the answer of a first try was lost.
        assert answer.status in (204, 401), answer.body
        self._ended()
        return True

    def refused_everywhere(self, token: str, access: str) -> bool:
        return all(
            gateway.proxied(access) == 401 and gateway.account.refresh(token).status == 401 for gateway in self.replicas
        )


class AppleApp(SessionApp):
    """With a user of its own at Apple."""

    def __init__(self, replicas: Replicas, seed: int):
        super().__init__(replicas, seed)
        self.user = f"app-{seed}-{id(replicas)}@example.com"
        # Seconds since 1970.
        self._may_sign_in = 0.0

    def _sign_in(self, gateway: Replica) -> bool:
        if time.time() < self._may_sign_in:
            return False
        proof = self._proof or gateway.apple_app.body(self.user)
        # With the same proof again where nobody knows whether it was taken.
        self._proof = proof
        answer = self._answer(gateway.apple_app.post, "apple", proof)
        if answer is None:
            return False
        self._proof = None
        if answer.status != 200:
            # The sign-in whose answer was lost has used it.
            assert answer.status == 401, answer.body
            return False
        self._began(answer.json()["token"], answer.json()["token"])
        self.told.used[proof["nonce"]] += 1
        again = self._answer(self._choice.choice(self.replicas.gateways).apple_app.post, "apple", proof)
        if again is not None and again.status == 200:
            self.told.problems.append("a proof has signed in twice")
        return True

    def _refresh(self, gateway: Replica) -> bool:
        answer = self._answer(gateway.apple_app.post, "refresh", token=self.told.token)
        if answer is None:
            return False
        if answer.status != 200:
            self._lost(answer, gateway)
            return False
        self._refreshed(answer, answer.json()["token"], answer.json()["token"])
        return True

    def _sign_out(self, gateway: Replica) -> bool:
        answer = self._answer(gateway.apple_app.post, "logout", token=self.told.token)
        while answer is None and not self.stopping.wait(PAUSE):
            other = self._choice.choice(self.replicas.gateways)
            answer = self._answer(other.apple_app.post, "logout", token=self.told.token)
        if answer is None:
            self._began("", "")
            return False
        assert answer.status in (204, 401), answer.body
        self._ended()
        # After many ends, each one also ends what begins in the second of that session, as documented.
        self._may_sign_in = int(time.time()) + 1
        return True

    def refused_everywhere(self, token: str, access: str) -> bool:
        return all(
            gateway.proxied(access) == 401 and gateway.apple_app.post("refresh", token=token).status == 401
            for gateway in self.replicas
        )


class SessionApps:
    """Apps of both kinds, running until ``judge``."""

    def __init__(self, replicas: Replicas, count: int = 3, seed: int = 1):
        self.replicas = replicas
        kinds = (PoolApp, AppleApp)
        self.apps = [kind(replicas, seed * 1000 + number * 2 + place) for number in range(count) for place, kind in enumerate(kinds)]
        for app in self.apps:
            app.start()

    @property
    def problems(self) -> list[str]:
        return [problem for app in self.apps for problem in app.told.problems]

    @property
    def refreshes(self) -> int:
        return sum(app.told.refreshes for app in self.apps)

    @property
    def refusals(self) -> int:
        return sum(app.told.refusals for app in self.apps)

    def wait_progress(self, what: str, seconds: float = 30) -> None:
        """Returns when every app has refreshed since now."""
        before = [app.told.refreshes for app in self.apps]

        def done() -> bool:
            alive = all(app.is_alive() for app in self.apps)
            return not alive or all(app.told.refreshes > count for app, count in zip(self.apps, before))

        wait_until(done, f"every app to refresh: {what}", seconds)
        assert not self.problems, (what, self.problems)
        assert all(app.is_alive() for app in self.apps), what

    def stop(self) -> None:
        for app in self.apps:
            app.stopping.set()
        for app in self.apps:
            app.end()

    def judge(self) -> None:
        """Ends the apps. No session that an app was told of is lost, and none goes on that it was told is ended."""
        self.stop()
        assert not self.problems, self.problems
        for app in self.apps:
            if app.told.token:
                for gateway in self.replicas:
                    wait_until(lambda: app.goes_on(gateway), f"the session of {app.user} at {gateway.port}")  # noqa: B023
            for token, access in app.told.ended:
                wait_until(
                    lambda: app.refused_everywhere(token, access),  # noqa: B023
                    f"the end of a session of {app.user}", 5,
                )  # fmt: skip
            assert all(count == 1 for count in app.told.used.values())
        assert not self.problems, self.problems
        wait_until(lambda: len({held(gateway) for gateway in self.replicas}) == 1, "the gateways' lists to be equal", 5)


def held(gateway: Replica) -> int:
    """How many revocations are in its list."""
    return gateway.status()["limits"]["revocations"]["held"]
