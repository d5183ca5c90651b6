"""An app that adds the package builds the client alone, and README's ten lines are a working app."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from harness import documentation
from harness.gateway import ADA, REPOSITORY, LocalPool
from harness.process import wait_until
from harness.sanitizer import PATIENCE

# The first test fetches the package's dependencies, as SwiftPM insists on, and builds.
pytestmark = [pytest.mark.timeout(600), pytest.mark.skipif(not shutil.which("swift"), reason="no Swift compiler")]

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "app",
    dependencies: [.package(name: "gatehouse", path: "%s")],
    targets: [.executableTarget(name: "App", dependencies: [.product(name: "GatehouseClient", package: "gatehouse")])]
)
"""


def readme_app() -> str:
    """README's lines, as the main file of a program."""
    return documentation.block("README.md", "client")


@pytest.fixture(scope="module")
def app(tmp_path_factory) -> Path:
    """The package of an app that depends on nothing but the client, built."""
    package = tmp_path_factory.mktemp("app")
    (package / "Sources" / "App").mkdir(parents=True)
    (package / "Package.swift").write_text(MANIFEST % REPOSITORY)
    lines = readme_app().replace('"https://api.example.com"', "CommandLine.arguments[1]")
    assert "CommandLine" in lines
    (package / "Sources" / "App" / "main.swift").write_text(lines + "print(response.statusCode, orders.count)\n")
    build = subprocess.run(
        ["swift", "build", "--package-path", package, "--product", "App"],
        capture_output=True, text=True, timeout=600 * PATIENCE,
    )
    assert build.returncode == 0, build.stdout[-3000:] + build.stderr[-3000:]
    return package


def test_readme_shows_ten_lines():
    lines = [line for line in readme_app().splitlines() if line.strip()]
    assert len(lines) <= 10, lines


def test_amplify_swift_4075_an_app_builds_nothing_of_the_gateway(app):
    """Amplify brings 31 packages along (amplify-swift#4075)."""
    modules = {path.stem for path in (app / ".build" / "debug" / "Modules").glob("*.swiftmodule")}
    assert modules == {"App", "GatehouseClient"}


def test_the_ten_lines_sign_in_stay_signed_in_and_sign_out(app, start_gateway, ledger, tmp_path):
    ledger.note(ADA[1])
    api = {"name": "api", "path": "/api/v1/orders", "access": "required", "upstream": "recorder"}
    gateway = start_gateway({"routes": [api]}, pool=LocalPool(tmp_path))
    run = subprocess.run(
        [app / ".build" / "debug" / "App", gateway.url], capture_output=True, text=True, timeout=60 * PATIENCE,
        env={**os.environ, "XDG_DATA_HOME": str(tmp_path)},
    )
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(r"200 \d+\n", run.stdout), run.stdout
    wait_until(lambda: len(gateway.access_log()) == 3, "three records of requests")
    # Those of two event loops may be written in another order.
    calls = [(each["route"], each["status"]) for each in sorted(gateway.access_log(), key=lambda line: line["time"])]
    assert calls == [("gatehouse:login", 200), ("api", 200), ("gatehouse:logout", 204)]
    # In the gateway's own file: another gateway of the app has another one.
    stored = tmp_path / "gatehouse-client" / f"App@http-127.0.0.1-{urlsplit(gateway.url).port}.json"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert "session" not in json.loads(stored.read_text())
