"""A pool whose tokens the gateway itself refuses: the log, /readyz, /status and `check` say what differs."""

import json

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.gateway import ADA, POOL_CLIENT_ID, check, gateway_config
from harness.process import wait_until

WRONG = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_LocalPool"
PATH = "/recorded/required/x"


def refusal(gateway) -> dict:
    """The first line of the log about refused tokens."""
    message = "the gateway refuses the tokens of its own sign-in"

    def found() -> list[str]:
        # One without its end is being written.
        return [line for line in gateway.process.errors().splitlines(True) if message in line and line.endswith("\n")]

    return json.loads(wait_until(found, message)[0])


def sign_ins(gateway) -> list[dict]:
    return json.loads(gateway.admin("/status")[1])["sign_ins"]


def translated_login(gateway, ledger) -> str:
    body = {
        "AuthFlow": "USER_PASSWORD_AUTH",
        "ClientId": POOL_CLIENT_ID,
        "AuthParameters": {"USERNAME": ADA[0], "PASSWORD": ADA[1]},
    }
    headers = {
        "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth", "Content-Type": "application/x-amz-json-1.1",
    }
    answer = raw.exchange(gateway.port, "POST", "/", headers, json.dumps(body).encode())
    assert answer.status == 200
    result = answer.json()["AuthenticationResult"]
    ledger.note(ADA[1], result["AccessToken"], result["IdToken"], result["RefreshToken"])
    return result["AccessToken"]


@pytest.mark.parametrize("translated", [False, True], ids=["login", "a translated call"])
def test_tokens_with_another_issuer_are_reported_with_expected_and_got(start_gateway, pool, ledger, translated):
    changes = {"issuers": {"pool": {"issuer": WRONG}}}
    if translated:
        changes["direct_cognito"] = {"mode": "translate"}
    gateway = start_gateway(changes, pool=pool)
    gateway.wait_until_ready()
    assert sign_ins(gateway) == [{"issuer": "pool", "client_id": POOL_CLIENT_ID, "refused": None, "differences": []}]
    token = translated_login(gateway, ledger) if translated else Account(gateway.port, ledger).login(*ADA).json()["access_token"]
    assert raw.exchange(gateway.port, "GET", PATH, bearer(token)).status == 401

    got = f"{pool.url}/eu-central-1_LocalPool"
    difference = f'iss: expected "{WRONG}", got "{got}"'
    line = refusal(gateway)
    assert (line["level"], line["issuer"], line["client_id"]) == ("error", "pool", POOL_CLIENT_ID)
    assert (line["reason"], line["differences"]) == ("unknown-issuer", difference)
    assert token not in gateway.log()
    # The rest works, so load balancers keep the gateway.
    status, text = gateway.admin("/readyz")
    assert status == 200
    assert f"sign-in at pool: the gateway refuses its tokens: unknown-issuer: {difference}" in text.splitlines()
    assert sign_ins(gateway) == [
        {
            "issuer": "pool",
            "client_id": POOL_CLIENT_ID,
            "refused": "unknown-issuer",
            "differences": [{"name": "iss", "expected": [WRONG], "got": got, "seconds_off": None}],
        }
    ]


def test_a_corrected_configuration_is_judged_anew(start_gateway, pool, ledger):
    gateway = start_gateway({"issuers": {"pool": {"client_ids": [POOL_CLIENT_ID], "issuer": WRONG}}}, pool=pool)
    gateway.wait_until_ready()
    account = Account(gateway.port, ledger)
    assert account.login(*ADA).status == 200
    refusal(gateway)
    gateway.reload({"issuers": {"pool": {"issuer": f"{pool.url}/eu-central-1_LocalPool"}}})
    assert sign_ins(gateway)[0]["refused"] is None
    token = account.login(*ADA).json()["access_token"]
    assert raw.exchange(gateway.port, "GET", PATH, bearer(token)).status == 200
    assert sign_ins(gateway)[0]["refused"] is None
    assert gateway.admin("/readyz") == (200, "ready\n")


def test_refreshed_tokens_are_judged_too(start_gateway, pool, ledger):
    """After a restart users refresh, and few sign in."""
    gateway = start_gateway(pool=pool)
    refresh_token = Account(gateway.port, ledger).login(*ADA).json()["refresh_token"]
    gateway.reload({"issuers": {"pool": {"issuer": WRONG}}})
    assert Account(gateway.port, ledger).post("refresh", {"refresh_token": refresh_token}).status == 200
    assert refusal(gateway)["reason"] == "unknown-issuer"


def test_check_refuses_a_pool_elsewhere_without_its_issuer(tmp_path, pool, issuer, own_recorder):
    def faults(changes: dict) -> list[str]:
        config = gateway_config(tmp_path, own_recorder.url, issuer.server.url, pool=pool, changes=changes)
        path = tmp_path / "gatehouse.yaml"
        path.write_text(json.dumps(config))
        result = check(path)
        assert result.returncode == 78
        return result.stderr.splitlines()

    [line] = faults({"issuers": {"pool": {"issuer": ...}}})
    assert "issuers.pool.jwks_url: needs issuer beside it" in line and WRONG in line
    [line] = faults({"issuers": {"pool": {"issuer": ..., "jwks_url": ...}}})
    assert "sign_in.cognito.endpoint: needs issuers.pool.issuer" in line
