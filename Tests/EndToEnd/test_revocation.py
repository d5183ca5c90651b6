"""The revocation list: what is on it is 401 from the next request on, through every connection, and after a restart."""

import subprocess

import jwt
import pytest

from harness import raw
from harness.gateway import binary, gatehouse
from harness.process import wait_until

REQUIRED = "/recorded/required/a"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def status(gateway, token: str, target: str = REQUIRED) -> int:
    return raw.exchange(gateway.port, "GET", target, headers=bearer(token)).status


def revoke(gateway, *arguments: str) -> None:
    result = gatehouse("revoke", "--config", gateway.config_path, *arguments)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "arguments, meant, others",
    [
        (["--jti", "j1"], {"jti": "j1"}, {"jti": "j2"}),
        (["--origin-jti", "o1"], {"origin_jti": "o1", "jti": "refreshed"}, {"origin_jti": "o2"}),
        (["--sid", "s1"], {"sid": "s1"}, {"sid": "s2"}),
        (["--issuer", "own", "--subject", "ada"], {"sub": "ada"}, {"sub": "bob"}),
    ],
    ids=["token", "sign-in", "session", "subject"],
)
def test_what_is_revoked_is_refused_everywhere_and_nothing_else_is(start_gateway, own_recorder, issuer, arguments, meant, others):
    gateway = start_gateway()
    token, other = issuer.access(**meant), issuer.access(**others)
    # Both loops have let it in, on connections that stay open.
    connections = [raw.RawConnection(gateway.port) for _ in range(8)]
    for connection in connections:
        assert connection.request("GET", REQUIRED, bearer(token)).status == 200
    assert status(gateway, other) == 200

    revoke(gateway, *arguments)
    # A reload reads the list before it is done, whatever the gateway would have noticed by itself.
    gateway.reload()
    for connection in connections:
        answer = connection.request("GET", REQUIRED, bearer(token))
        assert answer.status == 401 and answer.json()["error"] == "NotAuthorizedException"
        assert answer.header("www-authenticate") == 'Bearer error="invalid_token"'
        connection.close()
    assert status(gateway, token, "/recorded/optional/a") == 401
    assert status(gateway, token, "/recorded/public/a") == 200
    assert status(gateway, other) == 200
    assert gateway.access_line(answer.header("x-request-id"))["denial_reason"] == "token-revoked"
    assert gateway.samples()['gatehouse_denials_total{reason="token-revoked"}'] >= 9
    assert gateway.metric("gatehouse_revocations") == 1

    gateway.stop()
    restarted = start_gateway({"state_directory": gateway.config["state_directory"]})
    assert status(restarted, token) == 401
    assert status(restarted, other) == 200


def test_a_running_gateway_notices_by_itself(start_gateway, issuer):
    gateway = start_gateway()
    token = issuer.access(jti="noticed")
    assert status(gateway, token) == 200
    revoke(gateway, "--jti", "noticed")
    wait_until(lambda: status(gateway, token) == 401, "the token to be refused")


def test_who_signs_in_again_gets_in(start_gateway, issuer):
    gateway = start_gateway()
    before = issuer.access(sub="ada")
    assert status(gateway, before) == 200
    revoke(gateway, "--subject", "ada")
    gateway.reload()
    assert status(gateway, before) == 401
    now = jwt.decode(before, options={"verify_signature": False})["iat"]
    # Refreshed since, but of the same sign-in.
    assert status(gateway, issuer.access(sub="ada", auth_time=now, iat=now + 15)) == 401
    assert status(gateway, issuer.access(sub="ada", auth_time=now + 40, iat=now + 40)) == 200


def test_the_command_says_what_is_missing(start_gateway):
    gateway = start_gateway()
    wrong = (
        [], ["--jti", "a", "--sid", "b"], ["--jti", ""], ["--subject", "ada", "--jti", ""], ["--jti", "a", "--days", "0"],
    )
    for arguments in wrong:
        assert gatehouse("revoke", "--config", gateway.config_path, *arguments).returncode == 64, arguments
    result = gatehouse("revoke", "--config", gateway.config_path, "--issuer", "other", "--jti", "a")
    assert result.returncode == 1 and "no issuer" in result.stderr


def test_a_state_directory_that_cannot_be_used_stops_the_start(start_gateway, run_directory):
    path = run_directory / "no-directory"
    path.write_text("")
    with pytest.raises(AssertionError, match="state_directory: "):
        start_gateway({"state_directory": str(path)})


def test_the_command_that_judges_tokens_goes_by_it_while_the_gateway_runs_and_after(start_gateway, issuer):
    mine = {"name": "mine", "path": "/users/{sub}/**", "access": "required", "upstream": "recorder"}
    gateway = start_gateway()
    gateway.config["routes"].append(mine)
    gateway.reload()
    token, other = issuer.access(jti="j1", sub="ada"), issuer.access(jti="j2", sub="ada")

    def verdict(token: str, *arguments: str) -> tuple[int, str]:
        command = [str(binary()), "token", "verify", "--config", str(gateway.config_path), *arguments]
        result = subprocess.run(command, input=token.encode(), capture_output=True, timeout=60)
        return result.returncode, result.stdout.decode().split("\n")[0]

    accepted = (0, "accepted: access token of issuer own")
    assert verdict(token) == verdict(token, "--path", "/users/ada/x") == accepted
    assert verdict(token, "--path", "/users/bob/x") == (1, "rejected: subject-mismatch")
    assert (verdict(token, "--path", "/nowhere"), verdict(token, "--method", "PUT")) == ((1, ""), (64, ""))
    revoke(gateway, "--jti", "j1")
    for _ in range(2):
        assert verdict(token) == verdict(token, "--path", "/users/bob/x") == (1, "rejected: token-revoked")
        assert verdict(token, "--ignore-revocations") == accepted
        assert verdict(other) == accepted
        gateway.stop()
