"""Apps with sessions, for soak.sh: they use and refresh them all the time, and no session may be lost.

soak_sessions.py GATEWAY_PORT POOL_PORT DIRECTORY COUNT runs until SIGTERM, then asks each session once more whether it
lives; exit status 1 if one was lost. Half of COUNT are of the local pool, which takes Cognito's place, and half the
gateway's own, which begin at its local Apple. Others come and go, and some try wrong passwords.

The directory's file `situation` has what soak.sh does just now, as words:

  provider-away   refreshes of the pool's sessions, and sign-ins, may get 503 with Retry-After; apps then repeat them
  clock           the time of day is wrong or changes: access tokens that were issued by another clock may get 401, after
                  which a refresh succeeds. It is there a second before the clock changes
  pause           nobody calls, and no connection is open

Written there: `problems`, one to a line, and `counts`, as "name count" in lines.
"""

import hashlib
import http.client
import itertools
import json
import pathlib
import random
import secrets
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

PASSWORD = "Correct-Horse-7-Battery"
APP = "com.example.app"
USE = "/session/items"
# A response that was on its way when a situation ended still belongs to it.
GRACE = 2.0
LONGEST_OUTAGE = 30.0


class Response(NamedTuple):
    status: int
    body: dict
    retry_after: str | None


class Situation:
    """The words of the file, and when each was there last."""

    def __init__(self, path: pathlib.Path):
        self._path = path
        self._seen: dict[str, float] = {}
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            for word in self._path.read_text().split():
                self._seen[word] = time.monotonic()
            time.sleep(0.05)

    def is_now(self, word: str) -> bool:
        return word in self._path.read_text().split()

    def was(self, word: str, since: float) -> bool:
        """Whether it was there after a moment of the monotonic clock, or shortly before."""
        return self.is_now(word) or self._seen.get(word, 0) > since - GRACE


class Soak:
    """Everything that the apps have in common."""

    def __init__(self, port: int, pool: int, directory: pathlib.Path):
        self.port, self.pool = port, pool
        self.situation = Situation(directory / "situation")
        self.ending = threading.Event()
        self._directory = directory
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str, more: int = 1) -> None:
        with self._lock:
            self._counts[name] += more
            text = "".join(f"{each} {count}\n" for each, count in self._counts.items())
            new = self._directory / "counts.new"
            new.write_text(text)
            new.rename(self._directory / "counts")

    def problem(self, text: str) -> None:
        with self._lock, (self._directory / "problems").open("a") as file:
            file.write(f"{text}\n")

    def proof(self, user: str) -> dict:
        """The proof that a phone gives the app at a sign-in with Apple."""
        nonce = secrets.token_urlsafe(24)
        asked = {"user": user, "client_id": APP, "nonce": hashlib.sha256(nonce.encode()).hexdigest()}
        given = self._from_apple(asked)
        return {
            "identity_token": given["identity_token"],
            "authorization_code": given["authorization_code"],
            "nonce": nonce,
        }

    def _from_apple(self, asked: dict) -> dict:
        """The phone asks Apple itself, and again when Apple goes away just then."""
        end = time.monotonic() + LONGEST_OUTAGE
        while True:
            phone = Client(self, self.pool)
            try:
                return phone.call("POST", "/_local/apple/sign-in", asked).body
            except (OSError, http.client.HTTPException):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
            finally:
                phone.close()


class Client:
    """One connection, which is opened again when it has been closed between two calls."""

    def __init__(self, soak: Soak, port: int | None = None):
        self._connection = http.client.HTTPConnection("127.0.0.1", port or soak.port, timeout=30)
        self._soak = soak

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, path: str, body: dict | None = None, token: str | None = None) -> Response:
        self._send(method, path, body, token)
        response = self._connection.getresponse()
        text = response.read()
        is_json = text and (response.headers.get("Content-Type") or "").startswith("application/json")
        return Response(response.status, json.loads(text) if is_json else {}, response.headers.get("Retry-After"))

    def _send(self, method: str, path: str, body: dict | None, token: str | None) -> None:
        fields = {"Authorization": f"Bearer {token}"} if token else {}
        if body is not None:
            fields["Content-Type"] = "application/json"
        self._connection.request(method, path, None if body is None else json.dumps(body), fields)

    def leave(self, method: str, path: str, body: dict | None = None, token: str | None = None) -> None:
        """Sends a request and goes away before its response."""
        self._send(method, path, body, token)
        self._connection.close()


class App:
    """One app with one session. `refresh_call` says how it refreshes, and `keep` what it keeps of the response."""

    kind = ""
    needs_provider = True

    def __init__(self, soak: Soak, number: int):
        self.soak = soak
        self.name = f"{self.kind} {number}"
        self.user = f"user-{number}@example.com"
        self.client = Client(soak)
        self.was_issued_by_wrong_clock = False
        self.lost = False

    def sign_in(self) -> None:
        response = self.repeated(self.sign_in_once)
        if response.status != 200:
            raise SystemExit(f"{self.name} could not sign in: {response}")
        self.keep(response.body)
        self.soak.count("sign-ins")

    def sign_in_once(self) -> Response:
        raise NotImplementedError

    def refresh_call(self) -> tuple:
        raise NotImplementedError

    def keep(self, body: dict) -> None:
        raise NotImplementedError

    @property
    def access_token(self) -> str:
        raise NotImplementedError

    def repeated(self, call: Callable[[], Response]) -> Response:
        """The response to a call that is repeated while a provider that it needs is away."""
        end = time.monotonic() + LONGEST_OUTAGE
        while True:
            began = time.monotonic()
            response = call()
            if response.status != 503:
                return response
            self.soak.count("503")
            if not response.retry_after:
                self.soak.problem(f"{self.name}: 503 without Retry-After")
            if not self.needs_provider or not self.soak.situation.was("provider-away", began) or began > end:
                self.soak.problem(f"{self.name}: 503 while all was well: {response.body}")
                return response
            # An app that comes sooner than told, each half second say, meets its account's limit of 60 refreshes a minute.
            time.sleep(float(response.retry_after or 1))

    def refresh(self) -> bool:
        call = self.refresh_call()
        began = time.monotonic()
        if random.random() < 0.2 and not self.soak.situation.was("clock", began):
            self.client.leave(*call)
            self.soak.count("lost responses")
        response = self.repeated(lambda: self.client.call(*call))
        if response.status != 200:
            self.lost = True
            words = [word for word in ("provider-away", "clock") if self.soak.situation.was(word, began)]
            self.soak.problem(f"{self.name}: lost by {response.status} {response.body} ({words or 'all was well'})")
            return False
        self.was_issued_by_wrong_clock = self.soak.situation.was("clock", began)
        self.keep(response.body)
        self.soak.count("refreshes")
        return True

    def use(self) -> bool:
        """Calls the backend; refreshes, as an app does, after a 401 that the clock explains."""
        began = time.monotonic()
        status = self.client.call("GET", USE, token=self.access_token).status
        if status == 200:
            return True
        if status != 401 or not (self.was_issued_by_wrong_clock or self.soak.situation.was("clock", began)):
            self.soak.problem(f"{self.name}: {status} for its access token")
            return False
        self.soak.count("401 by the clock")
        return self.refresh()

    def live(self) -> None:
        """Until the end, when the session is asked twice, since the first time may be right after a step of the clock."""
        while not self.lost and not self.soak.ending.is_set():
            if self.soak.situation.is_now("pause"):
                self.client.close()
                self.soak.ending.wait(0.1)
                continue
            self.use()
            if not self.lost and random.random() < 0.5:
                self.refresh()
            self.soak.ending.wait(random.uniform(0.5, 3))
        if not self.lost and self.refresh() and self.use() and not self.lost:
            self.soak.count("alive")
        self.client.close()

    def guarded(self) -> None:
        try:
            self.live()
        except Exception as error:  # any end of this thread is a session that nobody looks after any more
            self.soak.problem(f"{self.name}: {type(error).__name__}: {error}")


class PoolApp(App):
    kind = "pool session"

    def sign_in_once(self) -> Response:
        return self.client.call("POST", "/api/v1/auth/login", {"email": self.user, "password": PASSWORD})

    def refresh_call(self) -> tuple:
        return "POST", "/api/v1/auth/refresh", {"refresh_token": self.tokens["refresh_token"]}

    def keep(self, body: dict) -> None:
        self.tokens = body

    @property
    def access_token(self) -> str:
        return self.tokens["access_token"]

    def sign_out(self) -> Response:
        return self.client.call("POST", "/api/v1/auth/logout", {"refresh_token": self.tokens["refresh_token"]})


class OwnApp(App):
    kind = "own session"
    needs_provider = False

    def sign_in_once(self) -> Response:
        return self.client.call("POST", "/api/auth/apple", self.soak.proof(self.user))

    def refresh_call(self) -> tuple:
        return "POST", "/api/auth/refresh", None, self.token

    def keep(self, body: dict) -> None:
        self.token = body["token"]

    @property
    def access_token(self) -> str:
        return self.token

    def sign_out(self) -> Response:
        return self.client.call("POST", "/api/auth/logout", None, self.token)


class Visitor(App):
    """Signs in and out again and again: a session that was ended stays so."""

    def live(self) -> None:
        while not self.soak.ending.is_set():
            if self.soak.situation.is_now("pause"):
                self.client.close()
            elif not any(map(self.soak.situation.is_now, ("clock", "provider-away"))):
                self.visit()
            self.soak.ending.wait(random.uniform(0.5, 2))
        self.client.close()

    def visit(self) -> None:
        began = time.monotonic()
        response = self.sign_in_once()
        if response.status == 200:
            self.keep(response.body)
            self.soak.count("sign-ins")
            ended, after = self.sign_out(), None
            if ended.status == 204:
                after = self.client.call(*self.refresh_call())
            if after and after.status == 401:
                return self.soak.count("sign-outs")
            response = after or ended
        if not any(self.soak.situation.was(word, began) for word in ("clock", "provider-away")):
            self.soak.problem(f"visitor of {self.name}: {response}")


class PoolVisitor(Visitor, PoolApp):
    """A visitor with the pool."""


class OwnVisitor(Visitor, OwnApp):
    """A visitor with Apple."""


class Guesser(App):
    """Tries wrong passwords."""

    kind = "guesser"

    def live(self) -> None:
        for number in itertools.cycle(range(50)):
            if self.soak.ending.wait(1):
                break
            if self.soak.situation.is_now("pause"):
                self.client.close()
                continue
            began = time.monotonic()
            guess = {"email": f"guessed-{number}@example.com", "password": "Wrong-Horse-1"}
            response = self.client.call("POST", "/api/v1/auth/login", guess)
            self.soak.count("wrong passwords")
            if response.status in (401, 429):
                continue
            if response.status != 503 or not self.soak.situation.was("provider-away", began):
                self.soak.problem(f"a wrong password: {response}")
        self.client.close()


def main() -> int:
    port, pool, directory, count = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])
    soak = Soak(port, pool, directory)
    signal.signal(signal.SIGTERM, lambda *_: soak.ending.set())
    kinds = (PoolApp, OwnApp)
    apps: list[App] = [kinds[number % 2](soak, number) for number in range(count)]
    for app in apps:
        app.sign_in()
    (directory / "signed-in").touch()
    everyone = [*apps, PoolVisitor(soak, count), OwnVisitor(soak, count + 1), Guesser(soak, count + 2)]
    threads = [threading.Thread(target=app.guarded) for app in everyone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alive = soak._counts["alive"]
    print(f"{alive} of {count} sessions alive")
    return 0 if alive == count else 1


if __name__ == "__main__":
    sys.exit(main())
