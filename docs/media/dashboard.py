#!/usr/bin/env python3
"""Takes a picture of the dashboard: a gateway with two servers, a local pool and some minutes of traffic.

    PYTHONPATH=Tests/EndToEnd dashboard.py DIRECTORY OUTPUT [SECONDS]      default: 180 seconds of traffic
"""

import json
import random
import sys
import threading
import time
from pathlib import Path

from harness import raw
from harness.browser import Browser
from harness.dashboard import Dashboard
from harness.gateway import POOL_CLIENT_ID, REPOSITORY, Gateway, LocalPool
from harness.process import Process, accepts_connections, free_port

WIDTH, HEIGHT = 1440, 962
TOKEN = "a-token-of-ada-for-the-picture"
PEOPLE = [(f"{name}@example.com", f"Correct-Horse-{name}-7") for name in ("ada", "grace", "edsger", "barbara", "tony")]
# Chosen by weight: a path, and whether a token goes with it.
CALLS = [
    (60, "/api/v1/whoami", True),
    (25, "/api/v1/items", True),
    (10, "/public/hello", False),
    (3, "/api/v1/items", False),
    (2, "/wp-admin/setup.php", False),
]


def backend(directory: Path, number: int) -> tuple[Process, str]:
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "app:app", "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    process = Process(command, directory / f"backend-{number}.log", cwd=REPOSITORY / "deploy" / "example-backend")
    process.wait_ready(lambda: accepts_connections(port), "the backend")
    return process, f"http://127.0.0.1:{port}"


def configuration(directory: Path, pool: LocalPool, servers: list[str]) -> dict:
    return {
        "listeners": [{"address": f"127.0.0.1:{free_port()}"}],
        "admin": {"address": f"127.0.0.1:{free_port()}", "tokens": {"ada": {"token": TOKEN, "may": ["read", "reload", "drain"]}}},
        "state_directory": str(directory / "state"),
        "upstreams": {"api": {"servers": [{"url": url} for url in servers], "health": {"path": "/public/hello"}}},
        "issuers": {"pool": pool.issuer_settings()},
        "sign_in": {"cognito": pool.sign_in_settings("pool")},
        "direct_cognito": "translate",
        "account_limits": {
            kind: dict.fromkeys(("address", "account", "global"), "unlimited") for kind in ("sign_in", "refresh", "account")
        },
        "routes": [
            {"name": "public", "path": "/public/**", "access": "public", "upstream": "api"},
            {"name": "api", "path": "/api/v1/**", "access": "required", "upstream": "api"},
            {"name": "users", "path": "/users/*", "methods": ["GET"], "access": "optional", "upstream": "api"},
        ],
    }


class Traffic:
    """Apps that sign in, call and refresh, and now and then do something wrong."""

    def __init__(self, gateway: Gateway):
        self._port = gateway.port
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._app, args=(number,), daemon=True) for number in range(len(PEOPLE))]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _post(self, call: str, **body: str) -> dict:
        answer = raw.exchange(
            self._port, "POST", f"/api/v1/auth/{call}", {"Content-Type": "application/json"}, json.dumps(body).encode()
        )
        return answer.json() if answer.status == 200 else {}

    def _app(self, number: int) -> None:
        chance, (email, password) = random.Random(number), PEOPLE[number]
        tokens: dict = {}
        while not self._ended.wait(chance.expovariate(8)):
            if not tokens or chance.random() < 0.01:
                if chance.random() < 0.15:
                    self._post("login", email=email, password="a wrong one")
                tokens = self._post("login", email=email, password=password)
            elif chance.random() < 0.02:
                tokens = self._post("refresh", refresh_token=tokens["refresh_token"])
            elif chance.random() < 0.01:
                self._direct(chance.choice(["Rides/4.1.2", "Rides/4.0.9"]))
            _, path, authorised = chance.choices(CALLS, [call[0] for call in CALLS])[0]
            headers = {"Authorization": f"Bearer {tokens['access_token']}"} if authorised and tokens else {}
            raw.exchange(self._port, "GET", path, headers)

    def _direct(self, app: str) -> None:
        """A call for Cognito itself, by a version of the app that is still out there."""
        email, password = PEOPLE[0]
        body = {
            "AuthFlow": "USER_PASSWORD_AUTH", "ClientId": POOL_CLIENT_ID,
            "AuthParameters": {"USERNAME": email, "PASSWORD": password},
        }  # fmt: skip
        headers = {
            "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth", "User-Agent": f"{app} (iPhone)",
            "Content-Type": "application/x-amz-json-1.1",
        }  # fmt: skip
        raw.exchange(self._port, "POST", "/", headers, json.dumps(body).encode())


def main() -> None:
    directory, output = Path(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 180
    directory.mkdir(parents=True)
    users = [{"email": email, "password": password, "confirmed": True} for email, password in PEOPLE]
    pool = LocalPool(directory, changes={"users": users})
    backends = [backend(directory, number) for number in range(2)]
    gateway = Gateway(directory, "gateway", configuration(directory, pool, [url for _, url in backends]))
    browser = Browser(directory)
    url = f"http://127.0.0.1:{gateway.admin_port}/"
    page = browser.open(Dashboard, url, WIDTH, HEIGHT)
    page.send("Emulation.setScrollbarsHidden", hidden=True)
    traffic = None
    try:
        page.type_into("#token", TOKEN)
        page.wait_for_state("Ready")
        # With the token in the tab nothing is refused, and the browser has nothing to complain of.
        page.events.clear()
        page.go(url)
        page.wait_for_state("Ready")
        traffic = Traffic(gateway)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(1)
            page.run("0")  # takes the browser's events, which would fill its connection
        page.refresh().screenshot(output)
        page.assert_sound(gateway)
    finally:
        if traffic:
            traffic.end()
        page.close()
        browser.stop()
        gateway.stop()
        for process, _ in backends:
            process.stop()
        pool.stop()


if __name__ == "__main__":
    main()
