"""Certificates from an ACME directory: Pebble, Let's Encrypt's server for tests, and directories that misbehave."""

import base64
import hashlib
import json
import re
import signal
import socket
import ssl
import stat
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from harness import documentation, raw
from harness.acme import Directory, Pebble
from harness.certificates import Authority
from harness.gateway import Gateway, check, gateway_config
from harness.process import accepts_connections, free_port, wait_until
from harness.replicas import postgres_state


@pytest.fixture
def make_pebble(tmp_path):
    made: list[Pebble] = []

    def make(**more) -> Pebble:
        made.append(Pebble(tmp_path / f"pebble{len(made)}", free_port(), free_port(), **more))
        return made[-1]

    yield make
    for pebble in made:
        pebble.close()


def certificate_at(pebble: Pebble, port: int, name: str) -> dict | None:
    """The one that is shown for the name, which is verified; nothing where there is none."""
    context = ssl.create_default_context(cadata=pebble.root())
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname=name) as tls:
                return tls.getpeercert()
    except (ssl.SSLError, ConnectionError):
        return None


class Site:
    """A gateway with a plain listener, to which the directory goes for http-01, and one with TLS."""

    def __init__(self, pebble: Pebble, start_gateway, *names: str, plain: dict | None = None, tls: dict | None = None, **changes):
        self.pebble = pebble
        listeners = [
            {"address": f"127.0.0.1:{pebble.http_port}", **(plain or {})},
            {"address": f"127.0.0.1:{pebble.tls_port}", "tls": {"acme": {"names": list(names)}, **(tls or {})}},
        ]
        self.gateway: Gateway = start_gateway({"listeners": listeners, "acme": pebble.settings(), **changes})
        # It is bound after the first one, for which `start_gateway` waits.
        wait_until(lambda: accepts_connections(pebble.tls_port), "the listener with TLS")

    def certificate(self, name: str) -> dict | None:
        return certificate_at(self.pebble, self.pebble.tls_port, name)

    def wait_for(self, name: str) -> dict:
        try:
            return wait_until(lambda: self.certificate(name), f"a certificate of {name}", seconds=60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.gateway.log()[-3000:]}\n{self.pebble.log()[-2000:]}") from None

    def logged(self, text: str, seconds: float = 30) -> None:
        wait_until(lambda: text in self.gateway.log(), f"the log to have: {text}", seconds=seconds)

    @property
    def state(self) -> Path:
        return Path(self.gateway.config["state_directory"]) / "acme.json"


def names_of(certificate: dict) -> tuple:
    return certificate["subjectAltName"]


def test_certificates_are_obtained_and_served_without_a_restart(make_pebble, start_gateway):
    site = Site(make_pebble(), start_gateway, "api.test", "www.test", plain={"redirect_to_https": 443, "server_names": ["other.test"]})
    for name in ("api.test", "www.test"):
        assert names_of(site.wait_for(name)) == (("DNS", name),)
    site.logged("obtained certificates are in use")
    assert "configuration reloaded" not in site.gateway.log()
    # The challenges' paths were answered before anything else had a say, and are a backend's or nobody's again.
    answered = [line for line in site.gateway.access_log() if line["path"].startswith("/.well-known/acme-challenge/")]
    assert answered and {line["status"] for line in answered} == {200}
    path = answered[0]["path"]
    assert raw.exchange(site.pebble.http_port, "GET", path, {"Host": "other.test"}).status == 308
    assert raw.exchange(site.pebble.http_port, "GET", path, {"Host": "api.test"}).status == 421
    wait_until(lambda: "certificate of" not in site.gateway.admin("/readyz")[1], "readiness to have nothing to tell")


def test_the_certificate_outlasts_a_restart(make_pebble, start_gateway):
    site = Site(make_pebble(), start_gateway, "api.test")
    before = site.wait_for("api.test")
    assert stat.S_IMODE(site.state.stat().st_mode) == 0o600
    stored = json.loads(site.state.read_text())
    assert stored["account"]["contacts"] == ["ops@example.com"] and stored["pending"] == []
    assert "PRIVATE KEY" not in site.gateway.log() + site.gateway.process.output()
    site.gateway.stop()
    site.pebble.stop()
    again = Gateway(site.state.parent.parent, "again", site.gateway.config)
    try:
        site.gateway = again
        # No directory could give another one by now.
        assert site.wait_for("api.test")["serialNumber"] == before["serialNumber"]
        assert "ordering" not in again.log()
    finally:
        again.stop()


def test_a_nonce_that_is_refused_costs_a_request_and_no_order(make_pebble, start_gateway):
    # The gateway tries each request ten times. If six nonces in ten were refused, one order in twenty would be too.
    site = Site(make_pebble(refused=30), start_gateway, "api.test")
    site.wait_for("api.test")
    assert "no certificate obtained" not in site.gateway.log()


def test_a_certificate_is_renewed_before_it_ends(make_pebble, start_gateway):
    site = Site(make_pebble(lifetime=24), start_gateway, "api.test")
    first = site.wait_for("api.test")
    wait_until(
        lambda: (now := site.certificate("api.test")) and now["serialNumber"] != first["serialNumber"],
        "the renewed certificate", seconds=60,
    )  # fmt: skip
    wait_until(lambda: site.gateway.log().count("certificate obtained") == 2, "the log to tell of both")


def test_the_gateway_serves_while_the_directory_is_away_and_tries_again(make_pebble, start_gateway):
    pebble = make_pebble()
    pebble.stop()
    site = Site(pebble, start_gateway, "api.test")
    site.logged("no certificate obtained")
    assert "the directory cannot be used" in site.gateway.log()
    site.gateway.wait_until_ready()
    status, text = site.gateway.admin("/readyz")
    assert status == 200 and "certificate of api.test: none yet: the directory cannot be used" in text
    assert raw.exchange(pebble.http_port, "GET", "/recorded/public/x").status == 200
    pebble.start()
    assert names_of(site.wait_for("api.test")) == (("DNS", "api.test"),)


def handshake(port: int, name: str, protocols: list[str]) -> tuple[bytes, str | None]:
    """The certificate that is shown, unverified, and the protocol; fails where the handshake does."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(protocols)
    with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
        with context.wrap_socket(plain, server_hostname=name) as tls:
            return tls.getpeercert(binary_form=True), tls.selected_alpn_protocol()


# Pebble asks about a challenge after some random time below its longest sleep: it stays pending as long as a test looks.
VERY_LONG = 10**6


def answer_to_challenge(port: int, name: str) -> bytes | None:
    """The certificate that the directory would be shown; nothing where no challenge is pending."""
    try:
        shown, chosen = handshake(port, name, ["acme-tls/1"])
    except (ssl.SSLError, ConnectionError, TimeoutError):
        return None
    return shown if chosen == "acme-tls/1" else None


def test_a_handshake_is_a_challenge_too(make_pebble, start_gateway):
    pebble = make_pebble()
    site = Site(pebble, start_gateway, "api.test", "www.test", acme=pebble.settings(challenge="tls-alpn-01"))
    for name in ("api.test", "www.test"):
        assert names_of(site.wait_for(name)) == (("DNS", name),)
    assert not [line for line in site.gateway.access_log() if "acme-challenge" in line["path"]]
    # Afterwards the protocol is nobody's.
    shown, chosen = handshake(pebble.tls_port, "api.test", ["acme-tls/1", "http/1.1"])
    assert chosen == "http/1.1" and b"acme" not in shown


def test_an_ordinary_handshake_is_as_ever_while_a_challenge_is_pending(make_pebble, start_gateway):
    pebble = make_pebble(longest_sleep=VERY_LONG)
    authority = Authority(pebble.directory, "own")
    certificates = [authority.issue("files.test").settings()]
    site = Site(
        pebble, start_gateway, "api.test", tls={"certificates": certificates}, acme=pebble.settings(challenge="tls-alpn-01")
    )
    shown = wait_until(lambda: answer_to_challenge(pebble.tls_port, "api.test"), "a pending challenge", seconds=30)
    extension = x509.load_der_x509_certificate(shown).extensions.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31"))
    authorization = json.loads(site.state.read_text())["pending"][0]["key_authorization"]
    assert extension.critical
    assert extension.value.value == b"\x04\x20" + hashlib.sha256(authorization.encode()).digest()
    for name, protocols in [("files.test", ["http/1.1"]), ("api.test", ["h2"]), ("api.test", ["acme-tls/1", "http/1.1"])]:
        other = x509.load_der_x509_certificate(handshake(pebble.tls_port, name, protocols)[0])
        assert other.subject.rfc4514_string() == "CN=files.test"
    status = raw.exchange(pebble.http_port, "GET", "/recorded/public/x").status
    assert status == 200


def test_several_gateways_share_one_order(make_pebble, start_gateway, own_cluster, postgres_password):
    pebble = make_pebble()
    state = postgres_state(own_cluster.ports, postgres_password)
    plain = free_port()
    sites = [Site(pebble, start_gateway, "api.test", state=state)]
    other = start_gateway(
        {
            "listeners": [
                {"address": f"127.0.0.1:{plain}"},
                {"address": f"127.0.0.1:{free_port()}", "tls": {"acme": {"names": ["api.test"]}}},
            ],
            "acme": pebble.settings(), "state": state,
        }
    )  # fmt: skip
    first = sites[0].wait_for("api.test")
    port = int(other.config["listeners"][1]["address"].rpartition(":")[2])
    wait_until(lambda: certificate_at(pebble, port, "api.test") == first, "the other gateway to have the same certificate")
    logs = lambda: [sites[0].gateway.log(), other.log()]
    wait_until(lambda: "certificate obtained" in "".join(logs()), "the log to tell of the order")
    assert sum(log.count("certificate obtained") for log in logs()) == 1, logs()
    stored = own_cluster.primary.sql("SELECT encode(sealed, 'escape') FROM acme_state")
    assert "PRIVATE KEY" not in str(stored) and str(stored[0][0]).startswith("v2.1.")


def test_gateways_on_one_state_directory_share_one_order(make_pebble, start_gateway):
    pebble = make_pebble(longest_sleep=VERY_LONG)
    first = Site(pebble, start_gateway, "api.test")
    stored = lambda: first.state.exists() and json.loads(first.state.read_text())["pending"]
    (pending,) = wait_until(stored, "a stored challenge", seconds=30)
    listeners = [
        {"address": f"127.0.0.1:{free_port()}"},
        {"address": f"127.0.0.1:{free_port()}", "tls": {"acme": {"names": ["api.test"]}}},
    ]
    directory = first.gateway.config["state_directory"]
    other = start_gateway({"listeners": listeners, "acme": pebble.settings(), "state_directory": directory})
    path = f"/.well-known/acme-challenge/{pending['token']}"
    asked = lambda: raw.exchange(other.port, "GET", path, {"Host": "api.test"})
    wait_until(lambda: asked().status == 200, "the other gateway to answer the challenge")
    assert asked().body.decode() == pending["key_authorization"]
    # It takes over at once when the first one is killed, and not before.
    assert "ordering" not in other.log()
    first.gateway.process.signal(signal.SIGKILL)
    first.gateway.process.wait(10)
    wait_until(lambda: "ordering a certificate" in other.log(), "the other gateway to order", seconds=20)


def test_a_gateway_answers_the_challenges_of_another_on_its_state_directory(make_pebble, start_gateway):
    pebble = make_pebble()
    asked = Site(pebble, start_gateway, "www.test")
    asked.wait_for("www.test")
    port = free_port()
    listeners = [
        {"address": f"127.0.0.1:{free_port()}"},
        {"address": f"127.0.0.1:{port}", "tls": {"acme": {"names": ["api.test", "www.test"]}}},
    ]
    directory = asked.gateway.config["state_directory"]
    other = start_gateway({"listeners": listeners, "acme": pebble.settings(), "state_directory": directory})
    wait_until(lambda: certificate_at(pebble, port, "api.test"), "a certificate of api.test", seconds=60)
    assert "no certificate obtained" not in other.log()
    assert certificate_at(pebble, port, "www.test") == asked.certificate("www.test")


def test_a_lost_key_that_sealed_the_certificates_is_replaced_as_the_runbook_says(
    make_pebble, start_gateway, own_cluster, postgres_password
):
    pebble = make_pebble()
    before = Site(pebble, start_gateway, "api.test", state=postgres_state(own_cluster.ports, postgres_password))
    number = before.wait_for("api.test")["serialNumber"]
    assert before.gateway.stop() == 0
    chapter = documentation.text("runbook-postgres.md").partition("### If the key that seals is lost")[2]
    for statement in re.findall(r"`(DELETE FROM [^`]*)`", chapter):
        own_cluster.primary.sql(statement)
    key = base64.b64encode(b"k" * 32).decode()
    state = postgres_state(own_cluster.ports, postgres_password, sealing_keys=[f"2:{key}"])
    after = Site(pebble, start_gateway, "api.test", state=state)
    assert after.wait_for("api.test")["serialNumber"] != number


def test_a_handshake_without_a_certificate_fails_at_once(make_pebble, start_gateway):
    pebble = make_pebble()
    pebble.stop()
    Site(pebble, start_gateway, "api.test")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", pebble.tls_port), timeout=5) as plain:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(plain, server_hostname="api.test")


def test_a_name_that_is_not_validated_waits_and_keeps_no_other_out(make_pebble, start_gateway):
    pebble = make_pebble(elsewhere=["lost.test"])
    site = Site(pebble, start_gateway, "lost.test", "api.test")
    assert names_of(site.wait_for("api.test")) == (("DNS", "api.test"),)
    line = next(each for each in site.gateway.log().splitlines() if "no certificate obtained" in each)
    assert "name=lost.test" in line and "the directory did not validate the name" in line
    assert "next_attempt_seconds=300" in line
    # The wait is stored: a restart is no new attempt.
    site.gateway.stop()
    again = Gateway(site.state.parent.parent, "again", site.gateway.config)
    try:
        wait_until(lambda: "ready" in again.log(), "the second gateway")
        assert "none yet: the directory did not validate the name" in again.admin("/readyz")[1]
        assert "ordering" not in again.log()
    finally:
        again.stop()


def test_status_and_dashboard_show_how_each_certificate_stands(make_pebble, start_gateway, open_page):
    site = Site(make_pebble(elsewhere=["lost.test"]), start_gateway, "api.test", "lost.test")
    site.wait_for("api.test")
    site.logged("no certificate obtained")

    def standings() -> dict[str, dict]:
        return {each["name"]: each for each in json.loads(site.gateway.admin("/status")[1])["acme"]}

    wait_until(lambda: standings()["lost.test"]["failures"], "the failure")
    found, now = standings(), time.time()
    good, bad = found["api.test"], found["lost.test"]
    assert abs(good["obtained_at"] - now) < 60 and abs(good["expires_at"] - now - 3600) < 90
    # Two thirds of its life, and up to 5 % more.
    assert 2300 <= good["next_attempt_at"] - good["obtained_at"] <= 2600
    assert (good["failures"], good["error"], good["failing_since"]) == (0, None, None)
    assert bad["obtained_at"] is bad["expires_at"] is None and bad["failures"] == 1
    assert bad["error"].startswith("the directory did not validate the name: ") and abs(bad["failing_since"] - now) < 60
    assert bad["next_attempt_at"] == bad["failing_since"] + 300
    page = open_page(site.gateway)
    wait_until(lambda: page.rows("#acme"), "the certificates")
    faulty, error, sound = page.rows("#acme")
    assert faulty[:3] == ["lost.test", "none", "–"] and re.fullmatch(r"in [45] min", faulty[3])
    (error,) = error
    assert re.fullmatch(rf"for \d+ s: {re.escape(bad['error'])}", error)
    assert sound[:2] == ["api.test", "valid"] and re.fullmatch(r"5\d min|1 h 0 min", sound[2]) and re.fullmatch(r"in \d+ min", sound[3])
    (said,) = [each for each in page.problems() if "lost.test" in each]
    assert re.fullmatch(r"There is no certificate of lost.test after 1 failed order: the next order is in [45] min", said)
    about = page.about("There is no certificate of lost.test")
    assert re.match(r"since \d\d:\d\d", about["since"]) and "or before" not in about["since"]
    assert about["why"] == f"last error: {bad['error']}" and about["chapter"] == "Runbook: A certificate has expired"
    page.assert_sound(site.gateway)


def test_without_acme_nothing_is_said_of_it(start_gateway, open_page):
    gateway = start_gateway()
    assert json.loads(gateway.admin("/status")[1])["acme"] is None
    page = open_page(gateway)
    page.wait_for_state("Ready")
    assert page.text("#acme-section") == ""


def test_a_directory_that_has_forgotten_the_account_gets_a_new_one(make_pebble, start_gateway):
    site = Site(make_pebble(lifetime=24), start_gateway, "api.test")
    site.wait_for("api.test")
    before = json.loads(site.state.read_text())["account"]["url"]
    site.pebble.stop()
    site.pebble.start()
    wait_until(lambda: site.certificate("api.test"), "a certificate of the new authority", seconds=60)
    after = json.loads(site.state.read_text())["account"]["url"]
    assert after
    wait_until(lambda: after != before or site.gateway.log().count("certificate obtained") == 2, "the log to tell of both")


def test_a_name_that_is_added_by_a_reload_gets_its_certificate(make_pebble, start_gateway):
    site = Site(make_pebble(), start_gateway, "api.test")
    first = site.wait_for("api.test")
    site.gateway.config["listeners"][1]["tls"]["acme"]["names"].append("www.test")
    site.gateway.reload(site.gateway.config)
    assert names_of(site.wait_for("www.test")) == (("DNS", "www.test"),)
    assert site.certificate("api.test")["serialNumber"] == first["serialNumber"]


# Answers of a directory, with the words of the log.
HOSTILE = {
    "huge": ("the response is too large", {"newNonce": "x" * 400_000}),
    "elsewhere": ("a URL on another server", {"newOrder": "https://localhost:1/order"}),
    "plain": ("a URL on another server", {"newAccount": "http://127.0.0.1/account"}),
    "like": ("a URL on another server", {"newNonce": "https://localhost.evil.test/nonce"}),
    "no URL": ("newNonce is missing", {"newNonce": 7}),
    "no JSON": ("no JSON", "<html>"),
    "external": ("credentials of an external account", {"meta": {"externalAccountRequired": True}}),
    "away": ("status 503", 503),
    "limited": ("the directory limits requests", 429),
    "redirect": ("status 302", 302),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_directory_that_misbehaves_is_left_alone(start_gateway, tmp_path, kind):
    expected, answer = HOSTILE[kind]
    with Directory(tmp_path, answer) as directory:
        gateway = start_gateway(
            {
                "listeners": [
                    {"address": f"127.0.0.1:{free_port()}"},
                    {"address": f"127.0.0.1:{free_port()}", "tls": {"acme": {"names": ["api.test"]}}},
                ],
                "acme": directory.settings(),
            }
        )
        wait_until(lambda: "no certificate obtained" in gateway.log(), "the order to fail")
        line = next(each for each in gateway.log().splitlines() if "no certificate obtained" in each)
        assert expected in line
        # One that fails so is asked again no sooner than after the wait.
        assert int(line.partition("next_attempt_seconds=")[2].split()[0]) >= (3600 if kind == "limited" else 10)
        assert directory.requests <= 2


def test_a_directory_that_drips_its_answer_is_left_after_a_while(start_gateway, tmp_path):
    with Directory(tmp_path, json.dumps({"meta": {"x": "x" * 4000}}), drips=True) as directory:
        plain = free_port()
        listeners = [
            {"address": f"127.0.0.1:{plain}"},
            {"address": f"127.0.0.1:{free_port()}", "tls": {"acme": {"names": ["api.test"]}}},
        ]
        gateway = start_gateway({"listeners": listeners, "acme": directory.settings()})
        wait_until(lambda: directory.requests, "the gateway to ask")
        began = time.monotonic()
        # Whole, the answer would take a quarter of an hour. Meanwhile the gateway serves, and reloads.
        assert raw.exchange(plain, "GET", "/recorded/public/x").status == 200
        gateway.reload({"limits": {"connections": 500}})
        wait_until(lambda: "no certificate obtained" in gateway.log(), "the gateway to give up", seconds=60)
        assert time.monotonic() - began > 10 and directory.requests == 1
        line = next(each for each in gateway.log().splitlines() if "no certificate obtained" in each)
        assert "the directory cannot be used: it took too long" in line
        assert raw.exchange(plain, "GET", "/recorded/public/x").status == 200


def spoil(state: Path, other: Path) -> None:
    """Puts another key beside the first stored certificate, as a disk or an operator may."""
    stored = json.loads(state.read_text())
    stored["certificates"][0]["key"] = other.read_text()
    state.write_text(json.dumps(stored))


@pytest.mark.parametrize("how", ["a start", "a reload", "a look"])
def test_a_stored_certificate_that_tls_refuses_stops_neither(make_pebble, start_gateway, how):
    pebble = make_pebble()
    site = Site(pebble, start_gateway, "api.test")
    before = site.wait_for("api.test")["serialNumber"]
    other = Authority(pebble.directory, "other").issue("api.test").key
    if how == "a start":
        site.gateway.stop()
        spoil(site.state, other)
        again = Gateway(site.state.parent.parent, "again", site.gateway.config)
    else:
        again = site.gateway
        spoil(site.state, other)
    if how == "a reload":
        again.config["listeners"][1]["tls"]["acme"]["names"].append("www.test")
        again.reload(again.config)
        assert "configuration not reloaded" not in again.log()
    try:
        site.gateway = again
        site.logged("the stored certificate of a name cannot be used, another one is ordered name=api.test")
        assert raw.exchange(pebble.http_port, "GET", "/recorded/public/x").status == 200
        wait_until(
            lambda: (now := site.certificate("api.test")) and now["serialNumber"] != before, "another certificate", seconds=30
        )
        # A reload with other names may come between the look that finds it and the order.
        assert again.log().count("cannot be used, another one is ordered") <= (2 if how == "a reload" else 1)
    finally:
        if how == "a start":
            again.stop()


def test_a_decision_is_never_a_response_to_a_challenge(make_pebble, start_gateway):
    pebble = make_pebble(longest_sleep=VERY_LONG)
    deciding = free_port()
    listeners = [
        {"address": f"127.0.0.1:{pebble.http_port}"},
        {"address": f"127.0.0.1:{deciding}", "external_authorization": {"proxy": "traefik", "trusted": ["127.0.0.1"]}},
        {"address": f"127.0.0.1:{pebble.tls_port}", "tls": {"acme": {"names": ["api.test"]}}},
    ]
    site = Site(pebble, start_gateway, "api.test", listeners=listeners)
    stored = lambda: site.state.exists() and json.loads(site.state.read_text())["pending"]
    wait_until(stored, "a stored challenge", seconds=30)
    (pending,) = json.loads(site.state.read_text())["pending"]
    path, host = f"/.well-known/acme-challenge/{pending['token']}", {"Host": "api.test"}
    # It is stored before it is answered.
    answered = partial(raw.exchange, pebble.http_port, "GET", path, host)
    wait_until(lambda: answered().status == 200, "the challenge to be answered")
    assert answered().body.decode() == pending["key_authorization"]
    asked = {"X-Forwarded-Method": "GET", "X-Forwarded-Host": "api.test", "X-Forwarded-For": "127.0.0.9"}
    questions = [(path, host), (path, {**host, **asked, "X-Forwarded-Uri": path}), ("/", {**host, **asked, "X-Forwarded-Uri": path})]
    for target, headers in questions:
        decided = raw.exchange(deciding, "GET", target, headers)
        assert decided.status >= 400 and pending["key_authorization"] not in decided.body.decode(), headers


def test_another_gateway_takes_over_from_one_that_was_killed_with_the_lease(
    make_pebble, start_gateway, own_cluster, postgres_password
):  # fmt: skip
    pebble = make_pebble(longest_sleep=15)
    state = postgres_state(own_cluster.ports, postgres_password)
    first = Site(pebble, start_gateway, "api.test", state=state).gateway
    leases = "SELECT holder FROM acme_leases WHERE ends_at > now()"
    wait_until(lambda: "ordering a certificate" in first.log(), "the first gateway to order")
    assert own_cluster.primary.sql(leases)
    first.process.signal(signal.SIGKILL)
    first.process.wait(10)
    # It listens where the directory looks, as the next machine behind a balancer does.
    other = start_gateway({"listeners": first.config["listeners"], "acme": pebble.settings(), "state": state})
    other.wait_until_ready()
    assert "none yet" in other.admin("/readyz")[1]
    held = own_cluster.primary.sql(leases)
    # As if a minute had gone by.
    own_cluster.primary.sql("UPDATE acme_leases SET ends_at = now()")
    assert held and "ordering" not in other.log()
    wait_until(lambda: certificate_at(pebble, pebble.tls_port, "api.test"), "the other gateway's certificate", seconds=60)
    wait_until(lambda: "certificate obtained" in other.log(), "the log to tell of it")
    assert own_cluster.primary.sql(leases) != held


def test_a_certificate_that_was_asked_for_is_not_ordered_again_after_a_kill(make_pebble, start_gateway):
    pebble = make_pebble()
    site = Site(pebble, start_gateway, "api.test")
    stored = lambda: json.loads(site.state.read_text())
    # Pebble makes it while the gateway waits for a second.
    (order,) = wait_until(
        lambda: site.state.exists() and stored()["finalized"], "an order that is finalized", seconds=30, interval=0.001
    )
    site.gateway.process.signal(signal.SIGKILL)
    site.gateway.process.wait(10)
    assert stored()["certificates"] == [] and stored()["finalized"] == [order]
    site.gateway = again = Gateway(site.state.parent.parent, "again", site.gateway.config)
    try:
        site.wait_for("api.test")
        (certificate,) = stored()["certificates"]
        assert certificate["key"] == order["key"] and stored()["finalized"] == []
        assert pebble.log().count("Added order") == 1
        assert "PRIVATE KEY" not in again.log() + again.process.output()
    finally:
        again.stop()


def test_draining_ends_an_order_before_the_listener_of_its_challenge(make_pebble, start_gateway, own_recorder):
    pebble = make_pebble(longest_sleep=VERY_LONG)
    site = Site(pebble, start_gateway, "api.test", upstreams={"recorder": {"first_byte_timeout": "20s"}})
    stored = lambda: json.loads(site.state.read_text())
    wait_until(lambda: site.state.exists() and stored()["pending"], "a stored challenge", seconds=30)
    release = threading.Event()
    own_recorder.on("/recorded/public/slow", lambda exchange: (release.wait(20), exchange.respond(200, b"")))
    with raw.RawConnection(pebble.http_port) as connection:
        connection.send(raw.request_bytes("GET", "/recorded/public/slow"))
        own_recorder.last("/recorded/public/slow")
        site.gateway.process.signal(signal.SIGTERM)
        wait_until(lambda: not stored()["pending"], "the challenge to be withdrawn")
        assert site.gateway.process.exit_status is None
        release.set()
        connection.response()
    assert site.gateway.process.wait(10) == 0
    assert stored()["failures"] == []


TLS = {"address": "127.0.0.1:9443", "tls": {"acme": {"names": ["api.test"]}}}
PLAIN = {"address": "127.0.0.1:9080"}
ASKED = {"external_authorization": {"proxy": "nginx", "trusted": ["127.0.0.1"]}}
ACME = {"directory": "https://acme.test/dir", "accept_terms": True}
MISTAKES = {
    "tls.acme alone": ({"listeners": [TLS]}, "needs the section acme"),
    "acme alone": ({"listeners": [PLAIN], "acme": ACME}, "no listener has tls.acme"),
    "no plain listener": ({"listeners": [TLS], "acme": ACME}, "http-01 needs a listener without tls"),
    "a plain listener for questions": ({"listeners": [{**PLAIN, **ASKED}, TLS], "acme": ACME}, "http-01 needs a listener without tls"),
    "a listener with TLS for questions": (
        {"listeners": [PLAIN, {**TLS, **ASKED}], "acme": {**ACME, "challenge": "tls-alpn-01"}},
        "tls-alpn-01 needs a listener with tls",
    ),
    "terms": ({"listeners": [PLAIN, TLS], "acme": {**ACME, "accept_terms": False}}, "accept_terms: must be true"),
    "no terms": ({"listeners": [PLAIN, TLS], "acme": {"directory": ACME["directory"]}}, "accept_terms: is missing"),
    "plain directory": ({"listeners": [PLAIN, TLS], "acme": {**ACME, "directory": "http://acme.test/dir"}}, "must begin with https"),
    "contact": ({"listeners": [PLAIN, TLS], "acme": {**ACME, "contact": ["ops"]}}, "must be an e-mail address"),
    "wildcard": ({"listeners": [PLAIN, {**TLS, "tls": {"acme": {"names": ["*.api.test"]}}}], "acme": ACME}, "takes the challenge dns-01"),
    "address": ({"listeners": [PLAIN, {**TLS, "tls": {"acme": {"names": ["192.0.2.7"]}}}], "acme": ACME}, "must be a host name"),
    "no names": ({"listeners": [PLAIN, {**TLS, "tls": {"acme": {"names": []}}}], "acme": ACME}, "must hold at least one name"),
    "nothing": ({"listeners": [PLAIN, {**TLS, "tls": {}}]}, "tls.certificates: is missing"),
}


def checked(directory: Path, changes: dict) -> tuple[int, str]:
    config = gateway_config(directory, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json")
    path = directory / "gatehouse.yaml"
    path.write_text(json.dumps({**config, **changes}))
    found = check(path)
    return found.returncode, found.stdout + found.stderr


@pytest.mark.parametrize("name", MISTAKES)
def test_check_reports_mistakes(tmp_path, name):
    changes, expected = MISTAKES[name]
    status, text = checked(tmp_path, changes)
    assert status != 0 and expected in text


def test_check_takes_what_is_right(tmp_path):
    status, text = checked(tmp_path, {"listeners": [PLAIN, TLS], "acme": ACME})
    assert status == 0, text
