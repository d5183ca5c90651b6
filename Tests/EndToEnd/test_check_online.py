"""`gatehouse check --online`: everything the settings point to is asked, and what is wrong is told by its key."""

import json
import re
import ssl
import time
from email.utils import formatdate

import httpx
import pytest
from harness import certificates
from harness.apple_app import APP, SIBLING_APP, apple_settings
from harness.authority import TLSServer
from harness.gateway import gatehouse, gateway_config, merged
from harness.local_apple import LocalApple, team_key
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
        assert document["good"] is (result.returncode == 0)
        assert SECRET not in result.stdout + result.stderr
        return result.returncode, {each["subject"]: each for each in document["online"]}

    return run


def test_all_that_is_there_is_good(asked, own_recorder, pool):
    status, found = asked()
    assert status == 0
    accounts = {"sign_in.cognito", "sign_in.cognito.writable_attributes"}
    assert set(found) == {"issuers.own", "issuers.pool", "upstreams.recorder"} | accounts
    assert all(each["good"] for each in found.values())
    assert found["issuers.pool"]["text"] == f"2 keys from {pool.jwks_url}"
    assert "responds with 200" in found["upstreams.recorder"]["text"]


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


def test_a_clock_that_is_wrong_is_told(asked, own_recorder, issuer):
    """As seen by the clock of whoever has the keys: tokens would be refused as expired, or as not yet valid."""
    keys = httpx.get(f"{issuer.server.url}/jwks.json").content
    for offset, words in ((-3600, "ahead of"), (3600, "behind"), (0, None)):

        def respond(exchange, offset=offset) -> None:
            date = formatdate(time.time() + offset, usegmt=True)
            exchange.respond(200, keys, {"Content-Type": "application/json", "Date": date})

        own_recorder.on("/jwks.json", respond)
        status, found = asked({"issuers": {"own": {"jwks_url": f"{own_recorder.url}/jwks.json"}}})
        assert status == (69 if words else 0)
        assert found["issuers.own"]["good"] is (words is None)
        text = found["issuers.own"]["text"]
        told = re.search(r"this machine's clock is (\d+) s (.*) its clock, which clock_skew does not allow for", text)
        # The second may have turned meanwhile.
        assert "keys from" in text and (told is None if words is None else told[2] == words and 3595 <= int(told[1]) <= 3605)


# ---- Apple


@pytest.fixture(scope="module")
def apple(run_directory):
    apple = LocalApple(run_directory, "asked-apple")
    yield apple
    apple.stop()


@pytest.fixture
def asked_apple(tmp_path, apple, own_recorder):
    """As `asked`, over settings with sign-in with Apple."""

    def run(server: dict | None = None, **changes):
        settings = merged(apple_settings(apple), {"sign_in": {"apple": {"server": server or {}}}, **changes})
        config = gateway_config(tmp_path, own_recorder.url, apple.apple_keys_url, changes=settings)
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config))
        result = gatehouse("check", "--config", path, "--online", "--json")
        found = [each for each in json.loads(result.stdout)["online"] if each["subject"] == "sign_in.apple.server"]
        assert "PRIVATE KEY" not in result.stdout + result.stderr
        return found

    return run


def test_apple_is_asked_for_each_app_and_nothing_changes_there(asked_apple, apple):
    control(apple, "DELETE", "calls")
    found = asked_apple()
    assert [each["good"] for each in found] == [True, True]
    assert [each["text"] for each in found] == [f"{apple.url} knows {app} and takes its client secret" for app in (APP, SIBLING_APP)]
    assert control(apple, "GET", "calls")["counts"] == {"AppleToken": 2}


@pytest.mark.parametrize("what", ["team_id", "key_id", "private_key"])
def test_a_client_secret_that_apple_does_not_take_is_told(asked_apple, what, tmp_path):
    other = tmp_path / "other.p8"
    other.write_text(team_key())
    wrong = {"team_id": "TEAM000009", "key_id": "KEY0000009", "private_key": f"file:{other}"}
    found = asked_apple({what: wrong[what]})
    assert [each["good"] for each in found] == [False, False]
    assert "(invalid_client): see team_id, key_id and private_key" in found[0]["text"]


def test_an_apple_that_does_not_answer_is_told(asked_apple):
    found = asked_apple({"endpoint": f"http://127.0.0.1:{free_port()}"})
    assert [each["good"] for each in found] == [False, False]
    assert "connect" in found[0]["text"] and "cannot-connect" not in found[0]["text"]
    found = asked_apple({"endpoint": "https://no-such-host.invalid"})
    assert found[0]["text"] == "https://no-such-host.invalid: Couldn't resolve host name"


def test_a_pool_that_does_not_answer_is_told(asked):
    status, found = asked(sign_in={"endpoint": f"http://127.0.0.1:{free_port()}"})
    assert status == 69
    assert "onnect" in found["sign_in.cognito"]["text"] and "CannotConnect" not in found["sign_in.cognito"]["text"]
    status, found = asked(sign_in={"endpoint": "https://no-such-host.invalid"})
    assert status == 69
    assert found["sign_in.cognito"]["text"] == "https://no-such-host.invalid: Couldn't resolve host name"


def test_an_upstream_is_asked_by_its_health_check(asked, own_recorder):
    own_recorder.on("/recorded/health", lambda exchange: exchange.respond(500, b""))
    health = {"upstreams": {"recorder": {"health": {"path": "/recorded/health"}}}}
    status, found = asked(health)
    assert status == 69 and "responds with 500 at /recorded/health" in found["upstreams.recorder"]["text"]
    own_recorder.on("/recorded/health", lambda exchange: exchange.respond(204, b""))
    assert asked(health)[0] == 0


@pytest.mark.parametrize(
    "name, hours, trusted, reason",
    [
        ("127.0.0.1", 48, False, "self-signed certificate in certificate chain"),
        ("127.0.0.1", -2, True, "certificate has expired"),
        ("api.example", 48, True, "it is for another name"),
    ],
)
def test_why_an_upstreams_certificate_is_not_trusted_is_told(asked, tmp_path, name, hours, trusted, reason):
    authority, other = (certificates.Authority(tmp_path / "tls", each) for each in ("authority", "other"))
    issued = authority.issue(name, hours=hours)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with issued.certificate.open("ab") as file:
        file.write(authority.pem.read_bytes())
    context.load_cert_chain(issued.certificate, issued.key)
    with TLSServer(context) as server:
        tls = {"ca": str((authority if trusted else other).pem)}
        status, found = asked({"upstreams": {"recorder": {"url": server.url, "tls": tls}}})
    (text,) = [each["text"] for subject, each in found.items() if subject == "upstreams.recorder"]
    assert status == 69
    assert text.endswith(f": the server's certificate is not trusted: {reason}"), text


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
    assert sum(line.startswith("ok   ") for line in lines) == 5
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
