"""`gatehouse check` by root sees what the service will see, whose files are not root's."""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import httpx
import pytest
from harness import certificates
from harness.deployment import needs_root
from harness.gateway import gatehouse, gateway_config
from harness.process import free_port

pytestmark = needs_root

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture
def place():
    """A directory that everybody may look into, as /etc/gatehouse is."""
    directory = Path(tempfile.mkdtemp())
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def config_path(place, own_recorder, issuer):
    """Settings with a certificate, a key set and a secret in files that only root may read."""
    issued = certificates.Authority(place / "tls").issue("127.0.0.1")
    keys, secret = place / "keys.json", place / "secret"
    config = gateway_config(place, own_recorder.url, issuer.server.url)
    keys.write_bytes(httpx.get(f"{issuer.server.url}/jwks.json").content)
    secret.write_text("0123456789abcdef")
    config["listeners"] = [{"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [issued.settings()]}}]
    del config["issuers"]["own"]["jwks_url"]
    config["issuers"]["own"]["jwks_file"] = str(keys)
    config["admin"]["token"] = f"file:{secret}"
    config["state_directory"] = str(place / "state")
    del config["upstreams"]["down"]
    config["routes"] = [route for route in config["routes"] if route["upstream"] != "down"]
    for path in (issued.key, keys, secret):
        path.chmod(0o600)
    path = place / "gatehouse.yaml"
    path.write_text(json.dumps(config, indent=2))
    path.chmod(0o644)
    return path


def of_the_service(place: Path) -> None:
    state = place / "state"
    state.mkdir(mode=0o700, exist_ok=True)
    os.chown(state, NOBODY.pw_uid, NOBODY.pw_gid)


def test_what_only_root_may_read_is_a_fault(config_path, place):
    of_the_service(place)
    result = gatehouse("check", "--config", config_path)
    *faults, reader = result.stderr.splitlines()
    assert result.returncode == 78 and reader == f"(read as nobody, to whom {place}/state belongs)"
    assert len(faults) == 3 and all("permission denied" in fault for fault in faults), faults
    told = json.loads(gatehouse("check", "--config", config_path, "--json").stdout)
    assert told["read_by"] == f"nobody, to whom {place}/state belongs"
    assert {fault["key"] for fault in told["faults"]} == {"listeners[0].tls.certificates[0].key", "issuers.own.jwks_file", "admin.token"}
    for path in (place / "keys.json", place / "secret", place / "tls" / "127.0.0.1.key"):
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    assert gatehouse("check", "--config", config_path).returncode == 0


def test_the_settings_themselves_must_be_readable_unless_they_are_given(config_path, place):
    for path in place.rglob("*"):
        os.chown(path, NOBODY.pw_uid, NOBODY.pw_gid)
    of_the_service(place)
    os.chown(config_path, 0, 0)
    config_path.chmod(0o600)
    result = gatehouse("check", "--config", config_path)
    assert result.returncode == 78 and "the settings can't be read: permission denied" in result.stderr
    with config_path.open() as file:
        given = subprocess.run([*result.args[:2], "--config", "-"], stdin=file, capture_output=True, text=True)
    assert given.returncode == 0, given.stderr


@pytest.mark.parametrize("there", [True, False], ids=["root's", "not there"])
def test_with_no_other_owner_root_goes_on(config_path, place, there):
    if there:
        (place / "state").mkdir()
    result = gatehouse("check", "--config", config_path)
    assert (result.returncode, result.stderr) == (0, "")


def test_variables_are_read_as_root_and_all_are_asked(config_path, place, issuer, own_recorder):
    of_the_service(place)
    config = json.loads(config_path.read_text())
    config["admin"]["token"] = "${OPERATORS_TOKEN}"
    del config["listeners"][0]["tls"], config["issuers"]["own"]["jwks_file"]
    config["issuers"]["own"]["jwks_url"] = f"{issuer.server.url}/jwks.json"
    config_path.write_text(json.dumps(config))
    variables = place / "environment"
    variables.write_text("OPERATORS_TOKEN=0123456789abcdef\n")
    variables.chmod(0o600)
    result = gatehouse("check", "--config", config_path, "--environment-file", variables, "--online", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert {each["subject"] for each in json.loads(result.stdout)["online"]} == {"issuers.own", "upstreams.recorder"}
