#!/usr/bin/env python3
"""Processor time of a gateway for each sign-in, by kind, beside another build of it.

    .venv/bin/python deploy/loadtest/sign_in_cost.py BINARY [BASELINE] [--rounds N] [--calls N] [--at-once N]

Cognito and its hosted domain are a server that responds at once, and Apple is a local one. Their time is not counted,
nor is that of the clients. A client has one connection, which stays open. By default there is one, so that the gateway
sleeps between two requests; with `--at-once`, that many clients sign in side by side. Rounds go from build to build.
Prints the medians in milliseconds, and the difference within a round. A kind that a build does not know is left out for
it. The last line is the gateway's time for a second without a request, which is part of the figures above it.
"""

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Generator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests" / "EndToEnd"))

from harness.account import Ledger  # noqa: E402
from harness.apple_app import AppleApp, apple_settings  # noqa: E402
from harness.gateway import ADA, BUDGETS, POOL_CLIENT_ID, Gateway, LocalPool, gateway_config, merged  # noqa: E402
from harness.hosted import PREFIX, App, hosted_settings, parse  # noqa: E402
from harness.instant_cognito import SECOND_FACTOR, InstantCognito, user_name  # noqa: E402
from harness.local_apple import LocalApple  # noqa: E402
from harness.process import free_port  # noqa: E402
from harness.raw import RawConnection, Response, request_bytes  # noqa: E402

# The requests of one sign-in: each is sent, and its response comes back.
Calls = Generator[bytes, Response, None]
ACCOUNT = "/api/v1/auth"
# As apps have them by default, but wide enough for all that is measured: counting costs as well.
WIDE = dict.fromkeys(("address", "account", "global"), "1000000/1m")
LIMITS = {**dict.fromkeys(BUDGETS, WIDE), "lockout": {"after": 100, "first": "10m"}}


def post(path: str, body: dict, headers: dict[str, str] | None = None) -> bytes:
    return request_bytes(
        "POST", path, {"Content-Type": "application/json", **(headers or {})}, json.dumps(body).encode()
    )


def checked(response: Response, status: int = 200) -> Response:
    assert response.status == status, f"{response.status} {response.body!r}"
    return response


class Client:
    """One connection that stays open, as a phone's would, and the phone's memory."""

    def __init__(self, port: int):
        self.connection = RawConnection(port, timeout=60)
        self.refresh_token = ""
        self.cookie: dict[str, str] = {}


class Build:
    """A gateway of one build with its own state."""

    def __init__(
        self, name: str, binary: str, directory: Path, cognito: InstantCognito, pool: LocalPool, apple: LocalApple,
        at_once: int = 1,
    ):
        self.name = name
        os.environ["GATEHOUSE_BINARY"] = binary
        settings = cognito.gateway_settings()
        sign_in = settings["sign_in"]["cognito"]
        schema = subprocess.run([binary, "schema"], capture_output=True, text=True, check=True).stdout
        self.has_hosted = '"redirect_uris"' in schema
        self.has_passwordless = '"passwordless"' in schema
        port = free_port()
        if self.has_hosted:
            sign_in["hosted"] = hosted_settings(pool, port, domain=cognito.url)
        if self.has_passwordless:
            sign_in["passwordless"] = {"factors": ["EMAIL_OTP"]}
        changes = merged(
            {**settings, "threads": 1, "listeners": [{"address": f"127.0.0.1:{port}"}],
             "direct_cognito": "translate", "logging": {"access_log": False}, "account_limits": LIMITS},
            apple_settings(apple),
        )
        self.gateway = Gateway(
            directory, name, gateway_config(directory / name, pool.url, pool.jwks_url, pool=pool, changes=changes)
        )
        self.clients = [Client(self.gateway.port) for _ in range(at_once)]
        self.apple_app = AppleApp(self.gateway.port, apple, Ledger())
        self.waiting: list[dict] = []
        self.names = itertools.count()

    def login(self, client: Client) -> Calls:
        body = {"email": user_name(next(self.names)), "password": ADA[1]}
        tokens = checked((yield post(f"{ACCOUNT}/login", body))).json()
        client.refresh_token = tokens["refresh_token"]

    def refresh(self, client: Client) -> Calls:
        if not client.refresh_token:
            yield from self.login(client)
        tokens = checked((yield post(f"{ACCOUNT}/refresh", {"refresh_token": client.refresh_token}))).json()
        client.refresh_token = tokens["refresh_token"]

    def translated(self, client: Client) -> Calls:
        body = {
            "AuthFlow": "USER_PASSWORD_AUTH",
            "ClientId": POOL_CLIENT_ID,
            "AuthParameters": {"USERNAME": user_name(next(self.names)), "PASSWORD": ADA[1]},
        }
        checked((yield post("/", body, {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
        })))

    def apple(self, client: Client) -> Calls:
        checked((yield post("/api/auth/apple", self.waiting.pop())))

    def second_factor(self, client: Client) -> Calls:
        """Both requests of a sign-in with a password and a code."""
        yield from self.answered("SMS_MFA", {"email": SECOND_FACTOR, "password": ADA[1]})

    def passwordless(self, client: Client) -> Calls:
        """Both requests of a sign-in with a code alone."""
        yield from self.answered("EMAIL_OTP", {"email": user_name(next(self.names)), "factor": "EMAIL_OTP"})

    def answered(self, challenge: str, body: dict) -> Calls:
        asked = checked((yield post(f"{ACCOUNT}/login", body)), 202).json()
        assert asked["challenge"] == challenge
        checked((yield post(
            f"{ACCOUNT}/challenge", {"challenge": challenge, "session": asked["session"], "code": "123456"}
        )))

    def hosted(self, client: Client) -> Calls:
        """All three requests of a sign-in: `authorize`, `callback` and `token`."""
        app = App(PREFIX)
        asked = checked((yield request_bytes("GET", app.authorize_url(), client.cookie)), 303)
        client.cookie = {"Cookie": (asked.header("set-cookie") or "").partition(";")[0]}
        parameters = parse(asked.header("location") or "")
        back = urllib.parse.urlencode({"code": parameters["nonce"], "state": parameters["state"]})
        back = checked((yield request_bytes("GET", f"{PREFIX}/callback?{back}", client.cookie)), 303)
        form = urllib.parse.urlencode(app.token_form(app.code(back.header("location") or "")))
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        tokens = checked((yield request_bytes("POST", f"{PREFIX}/token", headers, form.encode()))).json()
        client.refresh_token = tokens["refresh_token"]

    @property
    def kinds(self) -> dict[str, Callable[[Client], Calls]]:
        kinds = {
            "login": self.login, "second factor": self.second_factor, "refresh": self.refresh,
            "translated login": self.translated, "Apple": self.apple,
        }
        if self.has_passwordless:
            kinds["passwordless"] = self.passwordless
        if self.has_hosted:
            kinds["hosted"] = self.hosted
        return kinds

    def side_by_side(self, kind: str) -> None:
        """One sign-in of each client: all send a request before the first response is read."""
        running = [(client, self.kinds[kind](client)) for client in self.clients]
        requests = [next(calls) for _, calls in running]
        while running:
            for (client, _), request in zip(running, requests):
                client.connection.send(request)
            responses = [client.connection.response() for client, _ in running]
            requests = []
            for (_, calls), response in zip(running, responses):
                try:
                    requests.append(calls.send(response))
                except StopIteration:
                    pass
            assert len(requests) in (0, len(running))
            running = running if requests else []

    def cost(self, kind: str, calls: int) -> float:
        """Milliseconds of processor time for each call; not a number for a kind that the build does not know."""
        if kind not in self.kinds:
            return math.nan
        turns = -(-calls // len(self.clients))
        if kind == "Apple":
            # With these, signing in has to do with nobody else's time.
            count = (turns + 1) * len(self.clients)
            self.waiting = [self.apple_app.body(f"user-{number}@icloud.example") for number in range(count)]
        self.side_by_side(kind)
        before = self.gateway.process.cpu_nanoseconds()
        for _ in range(turns):
            self.side_by_side(kind)
        return (self.gateway.process.cpu_nanoseconds() - before) / turns / len(self.clients) / 1e6

    def idle(self, seconds: float) -> float:
        """Milliseconds of processor time in a second without requests."""
        before = self.gateway.process.cpu_nanoseconds()
        time.sleep(seconds)
        return (self.gateway.process.cpu_nanoseconds() - before) / seconds / 1e6


def report(name: str, rounds: list[list[float]]) -> None:
    row = "".join(f"{statistics.median(column):10.3f}" for column in zip(*rounds))
    if len(rounds[0]) == 2:
        row += f"{statistics.median(one - other for one, other in rounds):+12.3f}"
    print(f"{name:19}{row}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("baseline", nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", help="by default all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.environ["GATEHOUSE_BINARY"] = options.binary
        pool = LocalPool(directory)
        cognito = InstantCognito(pool)
        apple = LocalApple(directory)
        started = [pool, apple]
        try:
            builds = []
            for label, binary in (("new", options.binary), ("baseline", options.baseline)):
                if binary:
                    builds.append(Build(label, binary, directory, cognito, pool, apple, options.at_once))
                    started.append(builds[-1].gateway)
            print("kind               " + "".join(f"{build.name:>10}" for build in builds) + "  difference")
            for kind in options.kinds or builds[0].kinds:
                report(kind, [[build.cost(kind, options.calls) for build in builds] for _ in range(options.rounds)])
            report("idle second", [[build.idle(1) for build in builds] for _ in range(options.rounds)])
        finally:
            for each in reversed(started):
                each.stop()
            cognito.stop()


if __name__ == "__main__":
    main()
