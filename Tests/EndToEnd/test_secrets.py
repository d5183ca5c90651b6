"""No password, token or refresh token of the whole run is in any log of any gateway. Runs last."""

import json
import os
import re
import subprocess
from pathlib import Path

from harness import raw
from harness.account import bearer
from harness.gateway import ADA, POOL_CLIENT_SECRET
from harness.keys import flip_signature
from harness.user import signed_in_user


def gateway_logs(run_directory: Path) -> list[Path]:
    """The logs of all gateways of the run, including audit logs in files of their own."""
    return sorted([*run_directory.rglob("gateway.log*"), *run_directory.rglob("audit-*.log*")])


def found(secrets: set[str], logs: list[Path], patterns: Path) -> list[str]:
    """Where a secret is: the log's path, and how the secret begins.

    There are thousands of secrets and hundreds of logs, so grep looks for the ends of all at once, in memory that grows
    with their lengths; what else ends like one, as text made of one letter, is told from it afterwards."""
    ends = {secret[-40:] for secret in secrets}
    assert not any("\n" in end for end in ends)
    patterns.write_text("".join(f"{end}\n" for end in sorted(ends)))
    run = subprocess.run(
        ["grep", "--text", "--fixed-strings", "--files-with-matches", "-f", patterns, *logs],
        env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True,
    )
    assert run.returncode in (0, 1), run.stderr
    texts = {log: Path(log).read_text(errors="replace") for log in run.stdout.splitlines()}
    return [f"{log}: {secret[:4]}…" for log, text in texts.items() for secret in secrets if secret in text]


def test_a_secret_in_a_log_is_found(tmp_path):
    logs = [tmp_path / "gateway.log.out", tmp_path / "gateway.log.err"]
    logs[0].write_bytes(b"first\xff line\n" + b'{"path":"/a?b=Secret-In-The-Log-1."}\n' * 2)
    logs[1].write_text("nothing\n")
    padded = tmp_path / "gateway.log.padded"
    padded.write_text("x" * 61)
    assert found({"Secret-In-The-Log-1", "not-there"}, logs, tmp_path / "patterns") == [f"{logs[0]}: Secr…"]
    assert found({"Secret." + "x" * 60, "x" * 60}, [logs[0], padded], tmp_path / "patterns") == [f"{padded}: xxxx…"]
    assert found({"Secret.In.The.Log.1", "not-there"}, logs, tmp_path / "patterns") == []


def test_row_89_no_secret_is_in_any_log(gateway, pool, account, issuer, ledger, run_directory, tmp_path):
    # The run's other tests have left their secrets in the ledger; these make it a test on its own.
    tokens = account.login(*ADA).json()
    refreshed = account.refresh(tokens["refresh_token"]).json()
    account.me(refreshed["access_token"])
    account.login(ADA[0], "A-Wrong-But-Secret-Password-1")
    account.refresh("a-made-up-but-secret-refresh-token")
    account.post("login", b'{"email": "ada@example.com", "password": "Cut-Off-Secret-Password-2')
    ledger.note("Cut-Off-Secret-Password-2")
    bad = flip_signature(issuer.access())
    raw.exchange(gateway.port, "GET", "/api/v1/whoami", bearer(bad))
    raw.exchange(gateway.port, "GET", "/api/v1/whoami?access_token=Secret-In-The-Query-3", bearer(tokens["access_token"]))
    ledger.note("Secret-In-The-Query-3", bad)
    direct = {"AuthParameters": {"USERNAME": ADA[0], "PASSWORD": "Secret-Sent-To-Cognito-4"}}
    target = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth"}
    last = raw.exchange(gateway.port, "POST", "/", target, json.dumps(direct).encode())
    ledger.note("Secret-Sent-To-Cognito-4", POOL_CLIENT_SECRET, *issuer.minted)
    gateway.access_line(last.header("x-request-id"))

    # Of a token, its signature must not be there either, even with the rest cut off.
    signatures = {secret.rsplit(".", 1)[1][:40] for secret in ledger.secrets if secret.count(".") == 2}
    # Texts of one or two letters fill tokens and names, and are nobody's secrets.
    secrets = {secret for secret in ledger.secrets | signatures if len(secret) >= 8 and len(set(secret)) > 2}
    assert len(secrets) >= 10

    logs = gateway_logs(run_directory)
    assert run_directory / "gateway" / "gateway.log.out" in logs
    assert found(secrets, logs, tmp_path / "patterns") == []


def test_row_89_no_code_is_in_any_log(gateway, pool, account, ledger, run_directory):
    """Codes are too short to be looked for anywhere: they must not be a word of any line, nor of any text in one."""
    email, tokens = signed_in_user(account, pool)
    account.post("forgot-password", {"email": email})
    code = pool.confirmation_code(email)
    account.post("reset-password", {"email": email, "code": "975318", "new_password": "Reset-Horse-11"})
    account.post("reset-password", {"email": email, "code": code, "new_password": "Reset-Horse-11"})
    account.post("mfa/totp/verify", {"code": "864209"}, tokens["access_token"])
    last = account.post("confirm", {"email": email, "code": "753197"})
    gateway.access_line(last.header("x-request-id"))
    codes = {code for code in ledger.codes if len(code) >= 6}
    assert {code, "975318", "864209", "753197"} <= codes

    for log in gateway_logs(run_directory):
        # The run's directory, which paths begin with, has the time of its begin: six digits that a code may have too.
        for line in log.read_text(errors="replace").replace(run_directory.name, "").splitlines(keepends=True):
            # Of the access log only the texts: a duration may be any number. A killed gateway's last line may be half.
            is_whole = line.startswith("{") and line.endswith("\n")
            texts = [value for value in json.loads(line).values() if isinstance(value, str)] if is_whole else [line]
            words = {word for text in texts for word in re.split(r"[^0-9A-Za-z]+", text)}
            assert not words & codes, f"{log} holds a code: {line[:200]}"


def test_row_89_no_secret_is_in_the_metrics_or_the_pools_log(gateway, pool, account, ledger):
    account.login(*ADA)
    _, metrics = gateway.admin("/metrics")
    for text in (metrics, pool.log()):
        for secret in ledger.secrets:
            if len(secret) >= 8:
                assert secret not in text


def test_files_with_keys_are_for_their_owner_only(gateway):
    state = Path(gateway.config["state_directory"])
    # Key sets are public; whatever else is kept there is not.
    files = [path for path in state.rglob("*") if path.is_file() and not path.name.startswith("key-set-")]
    assert files, "no sealing key was kept"
    for path in files:
        assert path.stat().st_mode & 0o077 == 0, f"{path} can be read by others"
