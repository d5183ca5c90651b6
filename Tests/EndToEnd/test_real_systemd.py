"""The service under systemd itself: what `systemctl` tells the operator of it."""

import json

import pytest
from harness.deployment import DEPLOY, needs_root
from harness.process import wait_until
from harness.replicas import SEALING_KEY
from harness.sanitizer import SANITIZER
from harness.systemd import Systemd

pytestmark = [needs_root, pytest.mark.skipif(bool(SANITIZER), reason="a sanitizer wants what the unit does not allow")]

UNIT = "gatehouse.service"
SETTINGS = "/etc/gatehouse/gatehouse.yaml"
GOOD = (DEPLOY / "debian" / "gatehouse.yaml").read_text()
# No journal runs there.
OUTPUT = "[Unit]\nDefaultDependencies=no\n[Service]\nStandardOutput=append:/gatehouse.log\nStandardError=append:/gatehouse.log\n"


@pytest.fixture
def machine(run_directory, request):
    systemd = Systemd(run_directory / request.node.name[:60])
    try:
        systemd.checked("groupadd", "--system", "gatehouse")
        systemd.checked("useradd", "--system", "--gid", "gatehouse", "--no-create-home", "gatehouse")
        systemd.write(f"/etc/systemd/system/{UNIT}", (DEPLOY / "systemd" / UNIT).read_text())
        systemd.write(f"/etc/systemd/system/{UNIT}.d/output.conf", OUTPUT)
        systemd.write(SETTINGS, GOOD)
        systemd.checked("systemctl", "daemon-reload")
        yield systemd
    finally:
        systemd.stop()


def log(machine: Systemd) -> str:
    return machine.path("/gatehouse.log").read_text()


def test_a_reload_that_fails_says_so_and_why(machine):
    machine.checked("systemctl", "start", UNIT)
    assert machine.property(UNIT, "StatusText") == "serving"
    machine.checked("systemctl", "reload", UNIT)
    wait_until(lambda: "configuration reloaded" in log(machine), "the gateway to reload")

    # A faulty file: whoever reloads is told, and the gateway is not asked.
    machine.write(SETTINGS, GOOD + "unknown_key: 1\n")
    assert machine.run("systemctl", "reload", UNIT).returncode != 0
    assert machine.property(UNIT, "ActiveState") == "active"
    assert f"{SETTINGS}:{GOOD.count(chr(10)) + 1}" in log(machine) and "unknown_key" in log(machine)
    assert "not reloaded" not in log(machine)

    # Errors that only the running gateway finds are in the status until a reload succeeds.
    machine.write(SETTINGS, GOOD + "admin: {address: 127.0.0.1:9902}\n")
    machine.checked("systemctl", "reload", UNIT)
    wait_until(lambda: "last reload failed" in machine.property(UNIT, "StatusText"), "the status to tell of it")
    status = machine.property(UNIT, "StatusText")
    assert status.startswith("serving; the last reload failed: ") and "admin.address" in status
    assert status in machine.run("systemctl", "status", "--no-pager", "--full", UNIT).stdout
    # It listens where it did.
    machine.checked("gatehouse", "health", "--address", "127.0.0.1:9901")

    machine.write(SETTINGS, GOOD)
    machine.checked("systemctl", "reload", UNIT)
    wait_until(lambda: machine.property(UNIT, "StatusText") == "serving", "what is mended to be forgotten")
    machine.checked("systemctl", "stop", UNIT)
    assert machine.property(UNIT, "Result") == "success"


BEFORE, AFTER = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"


def accepted(machine: Systemd) -> dict[str, bool]:
    """Which of the two admin tokens the gateway accepts."""
    curl = ["curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code}"]
    call = [*curl, "http://127.0.0.1:9901/status", "--header"]
    statuses = {token: machine.checked(*call, f"Authorization: Bearer {token}") for token in (BEFORE, AFTER)}
    assert set(statuses.values()) <= {"200", "401"}, statuses
    return {token: status == "200" for token, status in statuses.items()}


def test_a_reload_reads_the_credentials_that_systemd_has_loaded_and_a_restart_reads_new_ones(machine):
    machine.write("/secrets/admin", f"{BEFORE}\n", 0o600)
    machine.write(f"/etc/systemd/system/{UNIT}.d/credentials.conf", "[Service]\nLoadCredential=admin:/secrets/admin\n")
    machine.write(SETTINGS, GOOD + 'admin: {token: "file:${CREDENTIALS_DIRECTORY}/admin"}\n')
    machine.checked("systemctl", "daemon-reload")
    machine.checked("systemctl", "start", UNIT)
    machine.checked("systemctl", "reload", UNIT)
    wait_until(lambda: "configuration reloaded" in log(machine), "the gateway to reload")
    machine.write("/secrets/admin", f"{AFTER}\n", 0o600)
    machine.checked("systemctl", "reload", UNIT)
    wait_until(lambda: log(machine).count("configuration reloaded") == 2, "the gateway to reload again")
    # Some versions of systemd copy the file anew at a reload, and others do not.
    assert sorted(accepted(machine).values()) == [False, True]
    machine.checked("systemctl", "restart", UNIT)
    assert accepted(machine) == {BEFORE: False, AFTER: True}
    # As the service's user, who may not read what root may.
    machine.write(SETTINGS, GOOD + 'admin: {token: "file:/secrets/admin"}\n')
    assert machine.run("systemctl", "reload", UNIT).returncode != 0


def test_a_database_that_is_away_is_tried_until_it_is_back(machine):
    # Nothing listens on this machine's own loopback.
    state = {"postgres": {"url": "postgresql://gatehouse@127.0.0.1:5432/gatehouse", "sealing_keys": [f"1:{SEALING_KEY}"]}}
    machine.write(SETTINGS, GOOD + f"state: {json.dumps(state)}\n")
    machine.write(f"/etc/systemd/system/{UNIT}.d/restart.conf", "[Service]\nRestartSec=100ms\n")
    machine.checked("systemctl", "daemon-reload")
    machine.checked("systemctl", "start", "--no-block", UNIT)
    # systemd's own limit is five starts in ten seconds.
    wait_until(lambda: int(machine.property(UNIT, "NRestarts")) > 6, "the service to be started again and again", 60)
    assert "state.postgres.url" in log(machine)
    wait_until(lambda: machine.property(UNIT, "ActiveState") == "activating", "the next start")
    # In one step: a start may read the file at any moment.
    machine.write(f"{SETTINGS}.new", GOOD)
    machine.checked("mv", f"{SETTINGS}.new", SETTINGS)
    wait_until(lambda: machine.property(UNIT, "ActiveState") == "active", "the service to run")
