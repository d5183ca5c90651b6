"""A state directory that others may change is refused at the start, and what is made in it is its owner's, whatever the umask."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness.deployment import needs_root
from harness.gateway import binary, gatehouse
from harness.process import wait_until
from harness.sanitizer import PATIENCE


@pytest.fixture
def stopped(start_gateway):
    """A gateway that has served, is stopped, and has left its state behind."""
    gateway = start_gateway({"identity": {"assertion": {"issuer": "https://gateway.example"}}})
    wait_until(lambda: list(state_of(gateway).glob("key-set-*.json")), "the key set to be kept")
    assert gateway.stop() == 0
    return gateway


def state_of(gateway) -> Path:
    return Path(gateway.config["state_directory"])


def refused(gateway) -> str:
    """Starts it once more; the fault it ends with."""
    result = gatehouse("serve", "--config", gateway.config_path)
    assert result.returncode == 78, (result.returncode, result.stderr)
    (fault,) = re.findall(rf"{re.escape(str(gateway.config_path))}:\d+: state_directory: ([^\"\n]*)", result.stderr)
    return fault


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o770, 0o777, 0o1777])
def test_a_directory_that_others_may_write_to_is_refused(stopped, mode):
    state = state_of(stopped)
    state.chmod(mode)
    fault = refused(stopped)
    assert fault == (
        f"{state}: others than its owner may write to it (mode {mode & 0o777:o}); if nobody has: chmod 700 {state}"
    )
    # So do commands that work in it.
    for command in (("revoke", "--jti", "x"), ("keys", "rotate", "--purpose", "assertion")):
        result = gatehouse(*command, "--config", stopped.config_path)
        assert result.returncode != 0 and "others than its owner may write" in result.stderr, (command, result.stderr)


def test_every_file_of_the_gateways_is_refused_with_a_lax_mode(stopped):
    state = state_of(stopped)
    state.chmod(0o755)
    names = sorted(path.name for path in state.iterdir())
    assert {"gatehouse.sqlite", "assertion-keys.json", "audit-keys.json", "key-set-own.json"} <= set(names), names
    for name in names:
        path = state / name
        assert path.stat().st_mode & 0o777 == 0o600, name
        for mode in (0o620, 0o602, 0o666, 0o644):
            if mode == 0o644 and name.startswith("key-set-"):
                continue
            path.chmod(mode)
            assert refused(stopped).startswith(f"{path}: others than its owner may "), name
        path.chmod(0o600)


def test_all_faults_are_reported_at_once(stopped):
    state = state_of(stopped)
    for name in ("gatehouse.sqlite", "audit-keys.json"):
        (state / name).chmod(0o666)
    faults = refused(stopped).split("; ")
    assert [fault for fault in faults if f"{state}/gatehouse.sqlite: " in fault], faults
    assert [fault for fault in faults if f"{state}/audit-keys.json: " in fault], faults


def test_what_others_may_only_read_and_is_public_serves_on(stopped, start_gateway):
    state = state_of(stopped)
    state.chmod(0o755)
    (state / "key-set-own.json").chmod(0o644)
    (state / "NOTES.txt").write_text("An operator's own.")
    (state / "NOTES.txt").chmod(0o666)
    start_gateway({"state_directory": str(state)}).wait_until_ready()


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_what_is_made_is_its_owners_whatever_the_umask(start_gateway, tmp_path, umask):
    state = tmp_path / "above" / "state"
    before = os.umask(umask)
    try:
        gateway = start_gateway(
            {"state_directory": str(state), "identity": {"assertion": {"issuer": "https://gateway.example"}}}
        )
    finally:
        os.umask(before)
    wait_until(lambda: list(state.glob("key-set-*.json")), "the key set to be kept")
    modes = {str(path): path.stat().st_mode & 0o777 for path in state.iterdir()}
    assert f"{state}/gatehouse.sqlite-wal" in modes and set(modes.values()) == {0o600}, modes
    assert state.stat().st_mode & 0o777 == 0o700 and state.parent.stat().st_mode & 0o022 == 0
    gateway.stop()
    start_gateway({"state_directory": str(state)}).wait_until_ready()


@pytest.fixture
def place():
    """A directory that every user may look into."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def serve_as_another_user(place: Path, config: dict, state: Path) -> str:
    """The words of a start as user 4343 that is refused for its settings."""
    executable, path = place / "gatehouse", place / "gatehouse.yaml"
    shutil.copy(binary(), executable)
    executable.chmod(0o755)
    path.write_text(json.dumps({**config, "state_directory": str(state)}))
    path.chmod(0o644)
    result = subprocess.run(
        [executable, "serve", "--config", path],
        user=4343,
        group=4343,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=30 * PATIENCE,
    )
    assert result.returncode == 78, result.stderr
    return result.stderr


@needs_root
def test_a_directory_of_another_users_is_refused(stopped, place):
    state = place / "state"
    state.mkdir()
    state.chmod(0o755)
    os.chown(state, 4242, 4242)
    # Those who come as somebody else can look into it, and read what is there, and must not believe it.
    said = serve_as_another_user(place, stopped.config, state)
    assert f"state_directory: {state}: belongs to user 4242, and this runs as user 4343" in said


@needs_root
def test_what_root_makes_belongs_to_the_directorys_owner(start_gateway, place):
    state = place / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 4343, 4343)
    gateway = start_gateway({"state_directory": str(state)})
    wait_until(lambda: list(state.glob("key-set-*.json")), "the key set to be kept")
    owners = {path.name: path.stat().st_uid for path in state.iterdir()}
    assert {"gatehouse.sqlite", "gatehouse.sqlite-wal", "gatehouse.sqlite-shm"} <= owners.keys()
    assert set(owners.values()) == {4343}, owners
    assert gateway.stop() == 0
    assert {path.stat().st_uid for path in state.iterdir()} == {4343}


@needs_root
def test_a_file_of_roots_is_named_to_another_user(stopped, place):
    state = place / "state"
    shutil.copytree(state_of(stopped), state)
    state.chmod(0o700)
    for path in [state, *state.iterdir()]:
        os.chown(path, 4343, 4343)
    # Nobody opens this one.
    put_away = state / "gatehouse.sqlite.bak"
    put_away.touch(0o600)
    database = state / "gatehouse.sqlite"
    os.chown(database, 0, 0)
    said = serve_as_another_user(place, stopped.config, state)
    assert f"{database}: belongs to root, and this runs as user 4343: chown 4343 {database}" in said
    assert put_away.stat().st_uid == 0 and str(put_away) not in said
