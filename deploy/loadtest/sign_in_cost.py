#!/usr/bin/env python3
"""Processor time of a gateway for each sign-in, by kind, beside another build of it.

    .venv/bin/python deploy/loadtest/sign_in_cost.py BINARY [BASELINE] [--rounds N] [--calls N]

Cognito's part is a server that responds at once, or a local pool, whose time is not counted. Rounds go from build to
build. Prints the medians in milliseconds, and the difference within a round. A kind that a build does not know is left
out for it.
"""

import argparse
import http.client
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Tests" / "EndToEnd"))

from harness.apple_app import AppleApp, apple_settings  # noqa: E402
from harness.account import Ledger  # noqa: E402
from harness.gateway import ADA, Gateway, LocalPool, gateway_config, merged  # noqa: E402
from harness.hosted import PREFIX, App, Browser, hosted_pool, hosted_settings  # noqa: E402
from harness.instant_cognito import InstantCognito  # noqa: E402
from harness.local_apple import LocalApple  # noqa: E402
from harness.process import free_port  # noqa: E402

Call = Callable[[], None]


class Client:
    """One connection that stays open, as a phone's would."""

    def __init__(self, port: int):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def post(self, path: str, body: dict, headers: dict[str, str] | None = None) -> dict:
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **(headers or {})})
        response = self.connection.getresponse()
        text = response.read()
        assert response.status == 200, f"{path}: {response.status} {text!r}"
        return json.loads(text)


class Build:
    """A gateway of one build with its own state."""

    def __init__(
        self, name: str, binary: str, directory: Path, cognito: InstantCognito, pool: LocalPool, apple: LocalApple, port: int
    ):
        self.name = name
        os.environ["GATEHOUSE_BINARY"] = binary
        settings = pool.sign_in_settings("pool", endpoint=cognito.url)
        schema = subprocess.run([binary, "schema"], capture_output=True, text=True, check=True).stdout
        self.has_hosted = '"redirect_uris"' in schema
        if self.has_hosted:
            settings["hosted"] = hosted_settings(pool, port)
        changes = merged(
            {"sign_in": {"cognito": settings}, "threads": 1, "listeners": [{"address": f"127.0.0.1:{port}"}],
             "direct_cognito": "translate", "logging": {"access_log": False}},
            apple_settings(apple),
        )
        self.gateway = Gateway(
            directory, name, gateway_config(directory / name, pool.url, pool.jwks_url, pool=pool, changes=changes)
        )
        self.client = Client(self.gateway.port)
        self.apple_app = AppleApp(self.gateway.port, apple, Ledger())
        self.pool_client = pool.sign_in_settings("pool")["client_id"]
        self.refresh_token = ""
        self.browser = Browser()
        self.waiting: list[dict] = []

    def prepare(self, kind: str, calls: int) -> None:
        if kind == "Apple":
            self.waiting = [self.apple_app.body(f"user-{number}@icloud.example") for number in range(calls)]
        if kind == "refresh":
            self.login()
        if kind == "hosted":
            # The pool knows the browser from then on, and shows no page.
            app = App(self.gateway.url + PREFIX)
            self.browser.fill_in(self.browser.go(app.authorize_url(prompt="login")), username=ADA[0], password=ADA[1])

    def hosted(self) -> None:
        """All three requests of a sign-in: `authorize`, `callback` and `token`."""
        app = App(self.gateway.url + PREFIX)
        body = app.token_form(app.code(self.browser.go(app.authorize_url())))
        self.client.post(f"{PREFIX}/token", body)

    def login(self) -> None:
        tokens = self.client.post("/api/v1/auth/login", {"email": ADA[0], "password": ADA[1]})
        self.refresh_token = tokens["refresh_token"]

    def refresh(self) -> None:
        tokens = self.client.post("/api/v1/auth/refresh", {"refresh_token": self.refresh_token})
        self.refresh_token = tokens["refresh_token"]

    def translated(self) -> None:
        body = {
            "AuthFlow": "USER_PASSWORD_AUTH",
            "ClientId": self.pool_client,
            "AuthParameters": {"USERNAME": ADA[0], "PASSWORD": ADA[1]},
        }
        self.client.post("/", body, {
            "Content-Type": "application/x-amz-json-1.1",
            "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
        })

    def apple(self) -> None:
        self.client.post("/api/auth/apple", self.waiting.pop())

    @property
    def kinds(self) -> dict[str, Call]:
        kinds = {"login": self.login, "refresh": self.refresh, "translated login": self.translated, "Apple": self.apple}
        return {**kinds, "hosted": self.hosted} if self.has_hosted else kinds

    def cost(self, kind: str, calls: int) -> float:
        """Milliseconds of processor time for each call; not a number for a kind that the build does not know."""
        if kind not in self.kinds:
            return math.nan
        self.prepare(kind, calls)
        call = self.kinds[kind]
        before = self.gateway.process.cpu_seconds()
        for _ in range(calls):
            call()
        return (self.gateway.process.cpu_seconds() - before) / calls * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("baseline", nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=300)
    options = parser.parse_args()
    cognito = InstantCognito()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        os.environ["GATEHOUSE_BINARY"] = options.binary
        ports = {label: free_port() for label in ("new", "baseline")}
        hosted = [hosted_pool(port)["client"]["hosted"] for port in ports.values()]
        callbacks = sorted({url for each in hosted for url in each["callback_urls"]})
        pool = LocalPool(directory, changes={"client": {"hosted": {"callback_urls": callbacks}}})
        apple = LocalApple(directory)
        started = [pool, apple]
        try:
            builds = []
            for label, binary in (("new", options.binary), ("baseline", options.baseline)):
                if binary:
                    builds.append(Build(label, binary, directory, cognito, pool, apple, ports[label]))
                    started.append(builds[-1].gateway)
            print("kind               " + "".join(f"{build.name:>10}" for build in builds) + "  difference")
            for kind in builds[0].kinds:
                rounds = []
                for _ in range(options.rounds):
                    rounds.append([build.cost(kind, options.calls) for build in builds])
                row = "".join(f"{statistics.median(column):10.3f}" for column in zip(*rounds))
                if len(builds) == 2:
                    row += f"{statistics.median(one - other for one, other in rounds):+12.3f}"
                print(f"{kind:19}{row}", flush=True)
        finally:
            for each in reversed(started):
                each.stop()
            cognito.stop()


if __name__ == "__main__":
    main()
