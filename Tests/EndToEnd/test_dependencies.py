"""The Swift packages that the gateway is built of are the same in each build, and leave apps that take the client free."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from harness.deployment import DEPLOY
from harness.gateway import REPOSITORY

MANIFEST = REPOSITORY / "Package.swift"
LIST = DEPLOY / "release" / "dependencies.txt"
PINNED = re.findall(r'(?m)^ +pinned\("https://github.com/([^"]+)", "(\d+\.\d+\.\d+)"\),$', MANIFEST.read_text())
needs_swift = pytest.mark.skipif(not shutil.which("swift"), reason="no Swift compiler")


def compare(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run(
        ["python3", DEPLOY / "release" / "dependencies.py", *arguments], capture_output=True, text=True, timeout=60
    )


def listed() -> dict[str, str]:
    lines = (line.split() for line in LIST.read_text().splitlines() if not line.startswith("#"))
    return {name: version for name, version, _ in lines}


@needs_swift
def test_each_direct_dependency_is_exact(tmp_path):
    # Somewhere else, so that a build that is under way does not make it wait.
    shutil.copy(MANIFEST, tmp_path)
    described = subprocess.run(
        ["swift", "package", "--package-path", tmp_path, "dump-package"], capture_output=True, text=True, timeout=120, check=True
    )
    requirements = {
        each["sourceControl"][0]["identity"]: each["sourceControl"][0]["requirement"]
        for each in json.loads(described.stdout)["dependencies"]
    }
    assert requirements == {name.split("/")[1].lower(): {"exact": [version]} for name, version in PINNED}


def test_the_list_of_releases_has_the_exact_versions():
    versions = listed()
    assert len(PINNED) == 9
    for name, version in PINNED:
        assert versions[name.split("/")[1].lower()] == version
    # Beside those that they bring along.
    assert versions.keys() > {name.split("/")[1].lower() for name, _ in PINNED}


@pytest.fixture
def resolved(tmp_path) -> Path:
    """The file that SwiftPM writes when it resolves the packages of the list."""
    pins = [
        {"identity": name, "location": f"https://example.com/{name}", "state": {"version": version, "revision": commit}}
        for name, version, commit in (line.split() for line in LIST.read_text().splitlines() if not line.startswith("#"))
    ]
    path = tmp_path / "Package.resolved"
    path.write_text(json.dumps({"pins": pins, "version": 3}))
    return path


def test_a_release_is_made_of_the_listed_packages(resolved):
    result = compare("--resolved", resolved)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    if (REPOSITORY / "Package.resolved").exists():
        result = compare()
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("change, message", [
    (lambda pins: pins[0]["state"].update(version="99.0.0"), "grdb.swift is 99.0.0 (commit "),
    # A tag that was moved.
    (lambda pins: pins[0]["state"].update(revision="0" * 40), f"(commit {'0' * 40}), and not "),
    (lambda pins: pins[0]["state"].pop("version"), "grdb.swift is - (commit "),
    (lambda pins: pins.pop(0), "grdb.swift was not resolved\n"),
    (lambda pins: pins.append({"identity": "another", "state": {"version": "1.0.0", "revision": "1"}}), "another 1.0.0 is new\n"),
], ids=["version", "moved", "branch", "missing", "new"])
def test_other_packages_are_refused(resolved, change, message):
    content = json.loads(resolved.read_text())
    change(content["pins"])
    resolved.write_text(json.dumps(content))
    result = compare("--resolved", resolved)
    assert result.returncode == 1 and message in result.stderr


def test_the_list_is_written_from_what_was_resolved(resolved, tmp_path):
    content = json.loads(resolved.read_text())
    content["pins"][0]["state"].update(version="99.0.0", revision="1")
    resolved.write_text(json.dumps(content))
    written = tmp_path / "dependencies.txt"
    written.write_bytes(LIST.read_bytes())
    assert compare("--resolved", resolved, "--list", written, "--write").returncode == 0
    assert compare("--resolved", resolved, "--list", written).returncode == 0
    before, after = LIST.read_text().splitlines(), written.read_text().splitlines()
    assert [line for line in after if line not in before] == ["grdb.swift 99.0.0 1"]


def test_the_release_compares_before_it_packs():
    text = (DEPLOY / "release.sh").read_text()
    assert text.index("deploy/release/dependencies.py") < text.index("# ---- The binary")


def repository(directory: Path, manifest: str, *versions: str) -> str:
    """The address of a package with nothing but a manifest, in some versions."""
    git = ["git", "-C", directory, "-c", "user.name=a", "-c", "user.email=a@example.com"]
    directory.mkdir(parents=True)
    (directory / "Package.swift").write_text(manifest)
    subprocess.run(["git", "init", "--quiet", directory], check=True)
    subprocess.run([*git, "add", "Package.swift"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "x"], check=True)
    for version in versions:
        subprocess.run([*git, "tag", version], check=True)
    return directory.as_uri()


@needs_swift
@pytest.mark.timeout(300)
def test_an_app_with_the_client_has_other_versions_of_what_the_gateway_uses(tmp_path):
    """SwiftPM resolves the dependencies of all of a package's products, also of those that an app does not use."""
    mirrors, wishes = [], []
    for name, version in PINNED:
        next_patch = f"{version.rsplit('.', 1)[0]}.{int(version.rsplit('.', 1)[1]) + 1}"
        empty = f'// swift-tools-version: 6.0\nimport PackageDescription\nlet package = Package(name: "{name.split("/")[1]}")\n'
        mirror = repository(tmp_path / "mirrors" / name.split("/")[1], empty, version, next_patch)
        mirrors.append({"original": f"https://github.com/{name}", "mirror": mirror})
        wishes.append(f'.package(url: "https://github.com/{name}", exact: "{next_patch}")')
    gatehouse = repository(tmp_path / "gatehouse", MANIFEST.read_text(), "0.9.0")
    app = tmp_path / "app"
    (app / "Sources" / "App").mkdir(parents=True)
    (app / "Sources" / "App" / "main.swift").write_text("")
    (app / ".swiftpm" / "configuration").mkdir(parents=True)
    (app / ".swiftpm" / "configuration" / "mirrors.json").write_text(json.dumps({"object": mirrors, "version": 1}))
    (app / "Package.swift").write_text(
        "// swift-tools-version: 6.2\nimport PackageDescription\n"
        f'let package = Package(name: "app", dependencies: [.package(url: "{gatehouse}", exact: "0.9.0"), {", ".join(wishes)}],\n'
        '    targets: [.executableTarget(name: "App", dependencies: [.product(name: "GatehouseClient", package: "gatehouse")])])\n'
    )
    result = subprocess.run(
        ["swift", "package", "--package-path", app, "--cache-path", tmp_path / "cache", "resolve"],
        capture_output=True, text=True, timeout=240,
    )
    assert result.returncode == 0, result.stderr
    pins = {pin["identity"]: pin["state"]["version"] for pin in json.loads((app / "Package.resolved").read_text())["pins"]}
    assert pins["gatehouse"] == "0.9.0" and pins["grdb.swift"] != dict(PINNED)["groue/GRDB.swift"]
