"""The admin listener: what it shows, to whom, and what it changes."""

import hashlib
import json
import re
import signal
import threading
import time
import urllib.parse

import pytest
from cryptography import x509
from harness import raw
from harness.account import Account, bearer
from harness.backend import RecordingBackend
from harness.certificates import Authority
from harness.gateway import ADA, POOL_CLIENT_SECRET, check, gatehouse
from harness.process import SILENT_PORT, free_port, wait_until

TOKEN = "an-admin-token-of-some-length"
AUTHORISED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def administered(start_gateway, own_recorder):
    return start_gateway({"admin": {"token": TOKEN}})


def ask(gateway, method: str, path: str, body: bytes = b"", headers: dict | None = AUTHORISED):
    response = raw.exchange(gateway.admin_port, method, path, {"Host": "localhost", **(headers or {})}, body)
    return response.status, json.loads(response.body) if response.header("content-type") == "application/json" else response.body


def status(gateway, headers: dict | None = None) -> dict:
    code, page = ask(gateway, "GET", "/status", headers=headers)
    assert code == 200
    return page


def metrics(gateway) -> str:
    code, text = ask(gateway, "GET", "/metrics")
    assert code == 200
    return text.decode()


def drained(gateway, server: str) -> str:
    """The value of the metric for a server of the recorder."""
    labels = f'upstream="recorder",server="{server}"'
    return re.search(rf"(?m)^gatehouse_upstream_server_drained{{{re.escape(labels)}}} (.*)$", metrics(gateway))[1]


# ---- Who may


def test_with_a_token_only_probes_are_for_everyone(administered):
    for path in ("/healthz", "/readyz"):
        wait_until(lambda: ask(administered, "GET", path, headers=None)[0] == 200, path)
    for path in ("/metrics", "/status", "/history"):
        assert ask(administered, "GET", path)[0] == 200
        for wrong in ({}, bearer(TOKEN[:-1]), bearer(TOKEN + "x"), {"Authorization": f"Basic {TOKEN}"}):
            response = raw.exchange(administered.admin_port, "GET", path, wrong)
            assert response.status == 401 and response.header("www-authenticate").startswith("Bearer")


@pytest.mark.parametrize("path", ["/reload", "/drain", "/log-level", "/upstreams/recorder/x/drain"])
def test_changes_take_the_token(administered, start_gateway, path):
    assert ask(administered, "POST", path, headers={})[0] == 401
    # Where there is none, nothing can be changed, also from this machine.
    without = start_gateway()
    assert ask(without, "POST", path, headers={})[0] == 403
    assert ask(without, "POST", path)[0] == 403
    assert ask(without, "GET", "/status", headers={})[0] == 200


def test_without_a_token_a_name_that_is_not_this_machines_is_refused(start_gateway, administered):
    """A page whose name was made to mean 127.0.0.1 (DNS rebinding) would read them else."""
    gateway = start_gateway()

    def status_as(of, host: str, path: str, more=None) -> int:
        return raw.exchange(of.admin_port, "GET", path, {"Host": host, **(more or {})}).status

    for path in ("/status", "/metrics", "/history"):
        for host in ("rebound.example", f"rebound.example:{gateway.admin_port}", "127.0.0.1.rebound.example", "localhost.example"):
            assert status_as(gateway, host, path) == 403
        for host in ("localhost", f"LocalHost:{gateway.admin_port}", "127.0.0.1", f"127.0.0.1:{gateway.admin_port}", "[::1]:9901"):
            assert status_as(gateway, host, path) == 200
        # A caller with the token is no page of another site.
        assert status_as(administered, "gatehouse.internal", path, bearer(TOKEN)) == 200
    for path in ("/healthz", "/"):
        assert status_as(gateway, "rebound.example", path) == 200


def test_an_admin_listener_for_everyone_is_refused_without_a_token(start_gateway, tmp_path):
    gateway = start_gateway()
    path = tmp_path / "public.yaml"
    for admin, good in (
        ({"address": "0.0.0.0:9901"}, False),
        ({"address": "0.0.0.0:9901", "token": TOKEN}, True),
        ({"address": "0.0.0.0:9901", "allow_public_without_token": True}, True),
    ):
        path.write_text(json.dumps({**gateway.config, "admin": admin}))
        result = check(path)
        assert result.returncode == (0 if good else 78), result.stdout + result.stderr
        if not good:
            assert gatehouse("serve", "--config", path).returncode == 78
        assert good or "admin.address: can be reached from outside" in result.stdout + result.stderr


# ---- Status


def test_status_tells_of_the_whole_gateway(start_gateway, own_recorder, pool, ledger, issuer):
    gateway = start_gateway({"direct_cognito": "block"}, pool=pool)
    gateway.wait_until_ready()
    raw.exchange(gateway.port, "GET", "/recorded/required/x?secret=hidden", {"X-Request-Id": "denied-one"})
    raw.exchange(gateway.port, "GET", "/recorded/public/x")
    Account(gateway.port, ledger).login(ADA[0], "A-Wrong-Password-For-The-Status")
    wait_until(lambda: status(gateway)["recent_audit_events"], "the audit event")
    page = status(gateway)
    assert page["version"].count(".") == 2 and page["uptime_seconds"] >= 0 and page["started_at"] > 1_700_000_000
    assert page["ready"] is True and page["draining"] is False
    assert len(page["configuration"]["digest"]) == 16 and page["configuration"]["faults"] == []
    assert page["listeners"] == [
        {"address": f"127.0.0.1:{gateway.port}", "tls": False, "http2": True, "proxy_protocol": False, "certificates": []}
    ]
    recorder = next(each for each in page["upstreams"] if each["name"] == "recorder")
    assert recorder["servers"][0] == {
        "name": own_recorder.url,
        "healthy": None,
        "check_error": None,
        "drained": False,
        "serving": True,
        "since": None,
        "last_error": None,
        "requests_in_flight": 0,
        "requests": 1,
        "failures": 0,
        "ejections": 0,
    }
    (missing,) = [each for each in page["refusals"] if each["reason"] == "token-missing"]
    assert (missing["request"], missing["request_id"]) == ("GET /recorded/required/x?secret=", "denied-one")
    assert page["draining_since"] is None and page["route_errors"] == []
    own = next(each for each in page["issuers"] if each["name"] == "own")
    assert own["key_error"] is None and own["key_failing_since"] is None
    assert 0 <= own["key_age_seconds"] < 60 and own["key_refreshes"] == 1 and own["key_failures"] == 0
    assert own["keys"] == len(json.loads(issuer.server.body())["keys"])
    assert 3500 < own["keys_due_in_seconds"] <= 3600 and own["keys_end_in_seconds"] == own["keys_due_in_seconds"] + 86_400
    assert page["limits"]["requests"] == {"limit": 10000, "in_flight": 0}
    assert page["limits"]["connections"]["limit"] == 10000
    denied = next(each for each in page["recent_denials"] if each["request_id"] == "denied-one")
    assert page["started_at"] - 5 <= denied["time"] <= page["started_at"] + page["uptime_seconds"] + 5
    assert (denied["reason"], denied["status"], denied["path"]) == ("token-missing", 401, "/recorded/required/x?secret=")
    assert page["recent_audit_events"][0]["event"] == "sign_in_failed"
    text = json.dumps(page)
    assert ADA[0] not in text and "A-Wrong-Password" not in text and "hidden" not in text


def test_status_tells_when_certificates_and_keys_end(start_gateway, run_directory, issuer):
    authority = Authority(run_directory / "authority-of-status")
    certificates = [authority.issue("API.example.com", "*.example.org"), authority.issue("other.example.com")]
    ends = []
    for each in certificates:
        leaf = x509.load_pem_x509_certificate(each.certificate.read_bytes())
        ends.append(int(leaf.not_valid_after_utc.timestamp()))
        # Of the whole chain the first to end counts; the authority's own ends later.
        each.certificate.write_bytes(each.certificate.read_bytes() + authority.pem.read_bytes())
    listener = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [each.settings() for each in certificates]}}
    own_keys = {"profile": "oidc", "issuer": "https://id.example", "jwks_file": str(run_directory / "status-keys.json"), "audiences": ["x"]}
    (run_directory / "status-keys.json").write_bytes(issuer.server.body())
    gateway = start_gateway({"listeners": [{"address": f"127.0.0.1:{free_port()}"}, listener], "issuers": {"filed": own_keys}})
    page = status(gateway)
    assert page["listeners"][1]["certificates"] == [
        {"names": ["api.example.com", "*.example.org"], "expires_at": ends[0]},
        {"names": ["other.example.com"], "expires_at": ends[1]},
    ]
    filed = next(each for each in page["issuers"] if each["name"] == "filed")
    assert filed["keys"] > 0 and filed["keys_due_in_seconds"] is None and filed["keys_end_in_seconds"] is None


def test_status_has_the_last_error_of_servers_and_routes(start_gateway, own_recorder):
    own_recorder.on("/recorded/public/broken", lambda exchange: exchange.respond(500))
    servers = [{"url": own_recorder.url}, {"url": f"http://127.0.0.1:{SILENT_PORT}"}]
    gateway = start_gateway({"upstreams": {"recorder": {"url": ..., "servers": servers}}})
    before = int(time.time())
    for number in range(6):
        # Every other one is answered by the other server, and its client notices nothing.
        headers = {"X-Request-Id": f"moved-{number}"}
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x", headers).status == 200
    assert raw.exchange(gateway.port, "GET", "/recorded/public/broken?secret=hidden", {"X-Request-Id": "broken"}).status == 500
    assert raw.exchange(gateway.port, "GET", "/down/x", {"X-Request-Id": "down"}).status == 502
    page = status(gateway)
    (upstream,) = [each for each in page["upstreams"] if each["name"] == "recorder"]
    errors = [server["last_error"] for server in upstream["servers"]]
    assert (errors[0]["error"], errors[0]["request_id"], errors[0]["count"]) == ("status 500", "broken", 1)
    assert "connect" in errors[1]["error"] and errors[1]["request_id"].startswith("moved-") and errors[1]["count"] >= 1
    for error in [*errors, *page["route_errors"]]:
        assert before <= error["since"] <= error["time"] <= time.time()
    routes = {each["route"]: each for each in page["route_errors"]}
    assert (routes["public"]["error"], routes["public"]["request"]) == ("status 500", "GET /recorded/public/broken?secret=")
    assert "connect" in routes["down"]["error"] and routes["down"]["request_id"] == "down"
    assert "hidden" not in json.dumps(page)


def test_the_last_denials_are_bounded(gateway):
    for number in range(60):
        raw.exchange(gateway.port, "GET", f"/nowhere/{number}")
    denials = status(gateway)["recent_denials"]
    assert len(denials) == 50 and denials[0]["path"] == "/nowhere/59"


def test_a_malformed_request_is_among_the_last_denials(gateway):
    with raw.RawConnection(gateway.port) as bad:
        bad.send(b"nonsense\r\n\r\n")
        response = bad.response()
    assert response.status == 400
    line = gateway.access_line(response.header("x-request-id"))
    denial = status(gateway)["recent_denials"][0]
    assert (denial["request_id"], denial["reason"]) == (line["request_id"], line["denial_reason"])
    assert (denial["status"], denial["method"], denial["path"]) == (400, "-", "-")


# ---- Reload


def test_a_reload_answers_with_what_has_changed(administered):
    # The tests' own is longer where everything takes longer.
    usual = administered.config["upstreams"]["recorder"]["first_byte_timeout"]
    administered.write_config(
        {
            "upstreams": {"recorder": {"first_byte_timeout": "9s"}},
            "limits": {"header_count": 50},
            "routes": [*administered.config["routes"], {"name": "new", "path": "/new", "access": "public", "upstream": "down"}],
        }
    )
    before = status(administered, AUTHORISED)["configuration"]["digest"]
    diff = [
        f"upstreams.recorder.first_byte_timeout: {usual} -> 9s",
        "routes[new].name: + new",
        "routes[new].path: + /new",
        "routes[new].access: + public",
        "routes[new].upstream: + down",
        "limits.header_count: 100 (default) -> 50",
    ]
    code, answer = ask(administered, "POST", "/reload")
    assert (code, sorted(answer.pop("diff"))) == (200, sorted(diff))
    assert answer == {
        "reloaded": True, "changes": {"upstreams": "~recorder", "routes": "+new", "settings": "~limits"}
    }
    assert raw.exchange(administered.port, "GET", "/new").status == 502
    after = status(administered, AUTHORISED)["configuration"]
    assert after["digest"] != before and after["reloads"] == 1
    wait_until(lambda: "settings=~limits" in administered.log(), "the log to tell of it")
    for line in diff:
        assert line in administered.log()
    assert ask(administered, "POST", "/reload") == (200, {"reloaded": True, "changes": {}, "diff": []})


def test_a_reload_names_the_secrets_that_are_others_and_never_tells_them(start_gateway, pool, tmp_path):
    secret, other = tmp_path / "client-secret", "anotherSecretThatNobodyKnowsOf"
    secret.write_text(POOL_CLIENT_SECRET)
    gateway = start_gateway(
        {"admin": {"token": TOKEN}, "sign_in": {"cognito": {"client_secret": f"file:{secret}"}}}, pool=pool
    )
    assert ask(gateway, "POST", "/reload") == (200, {"reloaded": True, "changes": {}, "diff": []})
    before = status(gateway, AUTHORISED)["configuration"]
    assert before["secrets_changed_at"] is None
    secret.write_text(other)
    told = {"secrets": "~sign_in.cognito.client_secret"}
    diff = ["sign_in.cognito.client_secret: <redacted> -> <redacted>"]
    assert ask(gateway, "POST", "/reload") == (200, {"reloaded": True, "changes": told, "diff": diff})
    after = status(gateway, AUTHORISED)["configuration"]
    assert after["digest"] == before["digest"] and after["secrets_changed_at"] >= before["in_use_since"]
    # The same one, written in the settings themselves: another text, no other secret.
    gateway.write_config({"sign_in": {"cognito": {"client_secret": other}}})
    assert ask(gateway, "POST", "/reload")[1]["changes"] == {}
    gateway.write_config({"sign_in": {"cognito": {"client_secret": POOL_CLIENT_SECRET}}})
    assert ask(gateway, "POST", "/reload")[1]["changes"] == told
    wait_until(lambda: gateway.log().count("secrets=~sign_in.cognito.client_secret") == 2, "the log to tell of it")
    for text in (gateway.log(), json.dumps(after)):
        assert other not in text and POOL_CLIENT_SECRET not in text
        for name in ("md5", "sha1", "sha256", "sha512"):
            assert hashlib.new(name, other.encode()).hexdigest()[:16] not in text.lower()


def test_a_secret_that_a_route_adds_counts_as_one(start_gateway, own_recorder, tmp_path):
    """Only the file that holds it has changed."""
    key = tmp_path / "key"
    key.write_text("one-key-of-the-backend\n")
    add = {"request_headers": {"add": {"X-Api-Key": f"file:{key}"}}}
    route = {"name": "pub", "path": "/pub", "access": "public", "upstream": "recorder", **add}
    gateway = start_gateway({"admin": {"token": TOKEN}, "routes": [route]})
    key.write_text("another-key-of-the-backend\n")
    path = "routes[pub].request_headers.add.X-Api-Key"
    changes = {"routes": "~pub", "secrets": f"~{path}"}
    told = {"reloaded": True, "changes": changes, "diff": [f"{path}: <redacted> -> <redacted>"]}
    assert ask(gateway, "POST", "/reload") == (200, told)
    after = status(gateway, AUTHORISED)["configuration"]
    assert after["secrets_changed_at"] >= after["in_use_since"]
    raw.exchange(gateway.port, "GET", "/pub")
    assert own_recorder.last("/pub").header("x-api-key") == "another-key-of-the-backend"
    wait_until(lambda: f"secrets=~{path}" in gateway.log(), "the log to tell of it")
    assert "key-of-the-backend" not in gateway.log() + json.dumps(after)


def test_a_faulty_reload_answers_with_the_faults_and_status_keeps_them(administered, own_recorder):
    good = dict(administered.config)
    administered.write_config({"threads": -1, "drain_timeout": "x"})
    code, answer = ask(administered, "POST", "/reload")
    assert code == 422 and answer["reloaded"] is False and len(answer["faults"]) == 2
    assert any("threads: must be a whole number" in fault for fault in answer["faults"])
    page = status(administered, AUTHORISED)["configuration"]
    assert page["faults"] == answer["faults"] and page["failed_reloads"] == 1
    assert page["in_use_since"] <= page["failed_at"] <= time.time()
    assert raw.exchange(administered.port, "GET", "/recorded/public/x").status == 200
    administered.config = good
    administered.write_config()
    assert ask(administered, "POST", "/reload")[0] == 200
    page = status(administered, AUTHORISED)["configuration"]
    assert page["faults"] == [] and page["failed_at"] is None


def test_a_vanished_configuration_leaves_the_one_in_use(administered, own_recorder):
    administered.config_path.unlink()
    code, answer = ask(administered, "POST", "/reload")
    assert code == 422 and "can't be read" in answer["faults"][0]
    assert raw.exchange(administered.port, "GET", "/recorded/public/x").status == 200


def test_reloads_asked_for_at_once_are_all_answered(administered):
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(ask(administered, "POST", "/reload")[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == [200] * 8


# ---- Draining


def test_a_gateway_set_aside_is_not_ready_and_serves(administered, own_recorder):
    administered.wait_until_ready()
    assert ask(administered, "POST", "/drain") == (200, {"draining": True, "ready": False})
    assert administered.admin("/readyz") == (503, "draining\n") and administered.admin("/healthz")[0] == 200
    assert "\ngatehouse_draining 1\n" in metrics(administered)
    assert raw.exchange(administered.port, "GET", "/recorded/public/x").status == 200
    assert status(administered, AUTHORISED)["draining"] is True
    assert ask(administered, "DELETE", "/drain") == (200, {"draining": False, "ready": True})
    assert administered.admin("/readyz")[0] == 200
    assert "\ngatehouse_draining 0\n" in metrics(administered)


def test_a_drained_server_gets_nothing_new_and_finishes_what_it_has(start_gateway, own_recorder):
    other = RecordingBackend()
    try:
        servers = [{"url": own_recorder.url}, {"url": other.url}]
        drain = f"/upstreams/recorder/{urllib.parse.quote(own_recorder.url, safe='')}/drain"
        gateway = start_gateway(
            {"admin": {"token": TOKEN}, "upstreams": {"recorder": {"url": ..., "servers": servers}}}
        )
        release = threading.Event()
        own_recorder.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"done")))
        other.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"done")))
        held = [raw.RawConnection(gateway.port) for _ in range(4)]
        for connection in held:
            connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
        wait_until(lambda: own_recorder.requests_to("/recorded/public/slow"), "a request at the server")
        assert ask(gateway, "POST", drain)[1]["drained"] is True
        before = len(own_recorder.requests_to("/recorded/public/x"))
        for _ in range(20):
            assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
        assert len(own_recorder.requests_to("/recorded/public/x")) == before
        assert len(other.requests_to("/recorded/public/x")) == 20
        release.set()
        for connection in held:
            assert connection.response().body == b"done"
            connection.close()
        # It stays so through a reload, also of the upstream itself.
        gateway.write_config({"upstreams": {"recorder": {"first_byte_timeout": "9s"}}})
        assert ask(gateway, "POST", "/reload")[0] == 200
        for _ in range(10):
            raw.exchange(gateway.port, "GET", "/recorded/public/x")
        assert len(own_recorder.requests_to("/recorded/public/x")) == before
        (upstream,) = [each for each in status(gateway, AUTHORISED)["upstreams"] if each["name"] == "recorder"]
        assert [(each["drained"], each["serving"]) for each in upstream["servers"]] == [(True, False), (False, True)]
        assert (drained(gateway, own_recorder.url), drained(gateway, other.url)) == ("1", "0")
        assert ask(gateway, "DELETE", drain)[1]["drained"] is False
        assert drained(gateway, own_recorder.url) == "0"
        for _ in range(20):
            raw.exchange(gateway.port, "GET", "/recorded/public/x")
        assert len(own_recorder.requests_to("/recorded/public/x")) > before
    finally:
        other.stop()


def test_a_server_is_named_by_its_url(administered, own_recorder):
    name = urllib.parse.quote(own_recorder.url, safe="")
    assert ask(administered, "POST", f"/upstreams/recorder/{name}/drain")[0] == 200
    assert raw.exchange(administered.port, "GET", "/recorded/public/x").status == 503
    # Both are left out by alerts meanwhile.
    assert drained(administered, own_recorder.url) == "1"
    reason = 'gatehouse_denials_total{reason="upstream-no-server"} 1'
    wait_until(lambda: f"\n{reason}\n" in metrics(administered), "the refusal to be counted")
    assert ask(administered, "DELETE", f"/upstreams/recorder/{name}/drain")[0] == 200
    assert raw.exchange(administered.port, "GET", "/recorded/public/x").status == 200
    assert ask(administered, "POST", "/upstreams/recorder/nobody/drain")[0] == 404


# ---- Log level


def test_the_log_level_is_changed_until_the_next_reload(administered):
    assert ask(administered, "POST", "/log-level", b'{"level": "error"}') == (200, {"level": "error", "was": "info"})
    assert ask(administered, "POST", "/reload")[0] == 200
    assert ask(administered, "POST", "/log-level", b'{"level": "debug"}')[1]["was"] == "info"
    # The line's own level is another field.
    wait_until(lambda: "log level changed" in administered.process.errors(), "the line about the level")
    (told,) = [line for line in map(json.loads, administered.process.errors().splitlines()) if "log level" in line["message"]]
    assert (told["level"], told["new_level"], told["was"]) == ("notice", "debug", "info") and "level_" not in told
    for bad in (b"", b"{}", b'{"level": "loud"}', b'{"level": 7}', b"x" * 10_000):
        code, refusal = ask(administered, "POST", "/log-level", bad)
        assert code == 400 and "one of trace, debug" in refusal["message"]


def test_all_refusals_have_one_shape_and_an_id_of_their_own(administered):
    asked = [
        ("POST", "/log-level", AUTHORISED, 400), ("POST", "/upstreams/recorder/nobody/drain", AUTHORISED, 404),
        ("GET", "/nowhere", AUTHORISED, 404), ("PUT", "/drain", AUTHORISED, 405), ("GET", "/status", {}, 401),
        ("GET", "/users/nobody", AUTHORISED, 404),
    ]
    seen = set()
    for method, path, headers, code in asked:
        response = raw.exchange(administered.admin_port, method, path, {"Host": "localhost", **headers}, b"")
        body = json.loads(response.body)
        assert response.status == code == body["statusCode"], path
        assert set(body) == {"error", "message", "statusCode", "requestId"}, path
        assert body["requestId"] == response.header("x-request-id")
        seen.add(body["requestId"])
    assert len(seen) == len(asked) and all(each.startswith("admin-") for each in seen)


def test_while_it_stops_a_reload_is_refused(administered, own_recorder):
    administered.write_config({"upstreams": {"recorder": {"first_byte_timeout": "20s"}}})
    release = threading.Event()
    own_recorder.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"")))
    with raw.RawConnection(administered.port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
        own_recorder.last("/recorded/public/slow")
        administered.process.signal(signal.SIGTERM)
        wait_until(lambda: "draining" in administered.admin("/readyz")[1], "draining to begin")
        assert ask(administered, "POST", "/reload") == (
            409,
            {"reloaded": False, "faults": ["the gateway is stopping"]},
        )
        release.set()
        connection.response()
    assert administered.process.wait(10) == 0
