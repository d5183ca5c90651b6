"""`gatehouse check --online`: everything the settings point to is asked, and what is wrong is told by its key."""

import json
import time

import pytest
from harness.gateway import gatehouse, gateway_config
from harness.local_pool_control import control
from harness.process import free_port

SECRET = "a-secret-that-is-not-the-app-clients"


@pytest.fixture
def asked(tmp_path, pool, issuer, own_recorder):
    """Runs the check over the tests' settings with changes: status, and what was found by subject."""

    def run(changes: dict | None = None, sign_in: dict | None = None):
        config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, pool=pool, changes=changes)
        del config["upstreams"]["down"]
        config["routes"] = [route for route in config["routes"] if route["upstream"] != "down"]
        config["sign_in"]["cognito"].update(sign_in or {})
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config))
        result = gatehouse("check", "--config", path, "--online", "--json")
        document = json.loads(result.stdout)
        assert document["good"] is True
        assert SECRET not in result.stdout + result.stderr
        return result.returncode, {each["subject"]: each for each in document["online"]}

    return run


def test_all_that_is_there_is_good(asked, own_recorder, pool):
    status, found = asked()
    assert status == 0
    assert set(found) == {"issuers.own", "issuers.pool", "sign_in.cognito", "upstreams.recorder"}
    assert all(each["good"] for each in found.values())
    assert found["issuers.pool"]["text"] == f"2 keys from {pool.jwks_url}"
    assert "answers 200" in found["upstreams.recorder"]["text"]


def test_a_wrong_client_secret_is_told_and_not_shown(asked):
    status, found = asked(sign_in={"client_secret": SECRET})
    assert status == 69
    assert not found["sign_in.cognito"]["good"]
    assert "client_secret is not the app client's" in found["sign_in.cognito"]["text"]


def test_an_app_client_that_is_not_there_is_told(asked, pool):
    other = "9another0client0000000000"
    ids = [other, *pool.issuer_settings()["client_ids"]]
    status, found = asked({"issuers": {"pool": {"client_ids": ids}}}, {"client_id": other})
    assert status == 69
    assert "no app client with this client_id" in found["sign_in.cognito"]["text"]


@pytest.mark.parametrize(
    "subject, changes",
    [
        ("issuers.own", lambda port: {"issuers": {"own": {"jwks_url": f"http://127.0.0.1:{port}/jwks.json"}}}),
        ("upstreams.recorder", lambda port: {"upstreams": {"recorder": {"url": f"http://127.0.0.1:{port}"}}}),
        ("upstreams.recorder", lambda port: {"upstreams": {"recorder": {"url": "http://no-such-host.invalid"}}}),
    ],
)
def test_what_does_not_answer_is_told_and_the_rest_is_asked_all_the_same(asked, subject, changes):
    status, found = asked(changes(free_port()))
    assert status == 69
    assert [name for name, each in found.items() if not each["good"]] == [subject]


def test_a_pool_that_does_not_answer_is_told(asked):
    status, found = asked(sign_in={"endpoint": f"http://127.0.0.1:{free_port()}"})
    assert status == 69
    assert "provider-unavailable" in found["sign_in.cognito"]["text"]


def test_an_upstream_is_asked_by_its_health_check(asked, own_recorder):
    own_recorder.on("/recorded/health", lambda exchange: exchange.respond(500, b""))
    health = {"upstreams": {"recorder": {"health": {"path": "/recorded/health"}}}}
    status, found = asked(health)
    assert status == 69 and "answers /recorded/health with 500" in found["upstreams.recorder"]["text"]
    own_recorder.on("/recorded/health", lambda exchange: exchange.respond(204, b""))
    assert asked(health)[0] == 0


def test_what_hangs_takes_its_time_and_no_more(asked, own_recorder):
    own_recorder.on("/recorded/health", lambda exchange: exchange.wait_for_close())
    began = time.monotonic()
    status, found = asked({"upstreams": {"recorder": {"health": {"path": "/recorded/health", "timeout": "1s"}}}})
    assert status == 69 and "too long" in found["upstreams.recorder"]["text"]
    assert time.monotonic() - began < 20


def test_nobodys_account_is_touched(asked, pool, own_recorder):
    control(pool, "DELETE", "calls")
    asked()
    counts = control(pool, "GET", "calls")["counts"]
    assert counts == {"ConfirmSignUp": 1}


def test_people_get_a_line_for_each(tmp_path, pool, issuer, own_recorder):
    config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, pool=pool)
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(config))
    result = gatehouse("check", "--config", path, "--online")
    assert result.returncode == 69
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{path}: good: ")
    assert sum(line.startswith("ok   ") for line in lines) == 4
    (failed,) = [line for line in lines if line.startswith("FAIL ")]
    assert failed.startswith("FAIL upstreams.down: ")
    # No colours, no cursor: this is no terminal.
    assert "\x1b" not in result.stdout


def test_a_faulty_configuration_asks_nobody(tmp_path, own_recorder):
    path = tmp_path / "gatehouse.yaml"
    path.write_text("threads: many\n")
    result = gatehouse("check", "--config", path, "--online", "--json")
    assert result.returncode == 78
    document = json.loads(result.stdout)
    assert document["good"] is False
    assert {"threads", "listeners", "routes", "upstreams"} <= {fault["key"] for fault in document["faults"]}
    assert all(fault["line"] >= 1 and fault["message"] for fault in document["faults"])
