"""The gateway as the authorization server of hosted sign-in: its metadata (RFC 8414), and codes that nobody redeems."""

import json
import signal
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from harness import raw
from harness.account import assert_refusal
from harness.gateway import ADA, Gateway, LocalPool, gateway_config
from harness.hosted import PREFIX, App, Browser, hosted_pool, hosted_settings, parse
from harness.pool_users import open_refresh_tokens
from harness.process import SILENT_PORT, free_port, wait_until


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def pool(run_directory, port: int):
    pool = LocalPool(run_directory, f"hosted-server-{port}", hosted_pool(port))
    yield pool
    pool.stop()


@pytest.fixture
def gateway(run_directory, issuer, pool: LocalPool, port: int):
    directory = run_directory / f"hosted-server-gateway-{port}"
    directory.mkdir()
    changes = {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "sign_in": {"cognito": {**pool.sign_in_settings("pool"), "hosted": hosted_settings(pool, port)}},
    }
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))
    yield gateway
    gateway.stop()


@pytest.fixture
def browser():
    browser = Browser()
    yield browser
    browser.close()


def sign_in(gateway: Gateway, browser: Browser) -> tuple[App, str]:
    """The app, and where the browser takes it after a sign-in with Ada's password."""
    app = App(gateway.url + PREFIX)
    page = browser.go(app.authorize_url())
    target = browser.fill_in(page, username=ADA[0], password=ADA[1])
    assert isinstance(target, str)
    return app, target


def test_a_client_configures_itself_by_the_metadata(gateway, browser):
    app, target = sign_in(gateway, browser)
    issuer = parse(target)["iss"]
    answer = httpx.get(get_well_known_url(issuer, external=True), trust_env=False)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    metadata = AuthorizationServerMetadata(answer.json())
    for name in ("issuer", "authorization_endpoint", "token_endpoint", "scopes_supported", "grant_types_supported"):
        getattr(metadata, f"validate_{name}")()
    for name in ("response_types_supported", "response_modes_supported", "token_endpoint_auth_methods_supported"):
        getattr(metadata, f"validate_{name}")()
    metadata.validate_code_challenge_methods_supported()
    assert metadata.issuer == issuer
    assert metadata["authorization_response_iss_parameter_supported"] is True
    assert metadata.authorization_endpoint == app.authorize_url().partition("?")[0]
    form = app.token_form(app.code(target))
    tokens = httpx.post(metadata.token_endpoint, data=form, trust_env=False)
    assert tokens.status_code == 200, tokens.text


def test_the_metadata_are_there_with_hosted_sign_in_alone(gateway):
    path = f"/.well-known/oauth-authorization-server{PREFIX}"
    assert raw.exchange(gateway.port, "GET", path).status == 200
    assert raw.exchange(gateway.port, "POST", path).status == 405
    gateway.reload({"sign_in": {"cognito": {"hosted": ...}}})
    assert_refusal(raw.exchange(gateway.port, "GET", path), 404, "NotFoundException")


@pytest.mark.parametrize("is_redeemed", [False, True], ids=["unredeemed", "redeemed"])
def test_the_session_of_a_code_that_nobody_redeems_ends_at_cognito(gateway, browser, pool, is_redeemed):
    app, target = sign_in(gateway, browser)
    assert open_refresh_tokens(pool, ADA[0]) == 1
    if is_redeemed:
        assert app.redeem(app.code(target)).status_code == 200
    gateway.stop()
    # As if its minute had passed.
    path = Path(gateway.config["state_directory"]) / "gatehouse.sqlite"
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        database.execute("UPDATE authorization_codes SET expires_at = expires_at - 61, forget_at = forget_at - 61")
        left = "SELECT count(*) FROM authorization_codes WHERE result IS NOT NULL AND expires_at > ?"
        assert database.execute(left, (time.time(),)).fetchone() == (0,)
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        if is_redeemed:
            assert open_refresh_tokens(pool, ADA[0]) == 1
        else:
            wait_until(lambda: open_refresh_tokens(pool, ADA[0]) == 0, "the end of the session at Cognito")
            assert app.redeem(app.code(target)).status_code == 400
    finally:
        again.stop()


@pytest.mark.parametrize("client", ["waits", "leaves"])
def test_a_gateway_ends_while_the_hosted_domain_owes_an_answer(run_directory, issuer, pool, port, client):
    """The call belongs to an event loop, which ends with the gateway."""
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    with socket.create_server(("127.0.0.1", 0)) as domain:
        domain.settimeout(10)
        hosted = hosted_settings(pool, port, domain=f"http://127.0.0.1:{domain.getsockname()[1]}")
        changes = {
            "listeners": [{"address": f"127.0.0.1:{port}"}],
            "drain_timeout": "1s",
            "sign_in": {"cognito": {**pool.sign_in_settings("pool"), "hosted": hosted}},
        }
        directory = run_directory / f"hosted-end-{port}"
        directory.mkdir()
        config = gateway_config(directory, nobody, issuer.server.url, None, pool, changes)
        gateway = Gateway(directory, "gateway", config)
        with raw.RawConnection(gateway.port) as connection:
            asked = connection.request("GET", App(PREFIX).authorize_url())
            state = parse(asked.header("location"))["state"]
            cookie = {"Cookie": asked.header("set-cookie").partition(";")[0]}
            connection.send(raw.request_bytes("GET", f"{PREFIX}/callback?code=a&state={state}", cookie))
            owing, _ = domain.accept()
            if client == "leaves":
                connection.close()
                wait_until(lambda: "client-disconnected" in gateway.log(), "the client to be missed")
            gateway.process.signal(signal.SIGTERM)
            assert gateway.process.wait(10) == 0
        owing.close()
    # Whatever is said is the gateway's own log: NIO would complain of work for a loop that has ended.
    messages = [json.loads(line)["message"] for line in gateway.process.errors().splitlines()]
    assert messages[-1] == "stopped"
