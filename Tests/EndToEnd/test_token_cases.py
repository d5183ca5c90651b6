"""The project's own token cases, through `gatehouse token verify`, `gatehouse jws verify` and a running gateway."""

import json
import subprocess
import time
from pathlib import Path

import pytest
import token_cases
from harness import raw
from harness.gateway import binary
from harness.process import wait_until
from harness.sanitizer import PATIENCE

CASES = token_cases.load(Path(__file__).parent / "cases" / "tokens.json")
NOW = 1_780_000_000
# The challenge for clients, whatever the reason (RFC 6750 §3.1).
CHALLENGE = 'Bearer error="invalid_token"'


def verdicts(arguments: list, tokens: list[str]) -> list[dict]:
    command = [str(binary()), *map(str, arguments), "--lines"]
    result = subprocess.run(command, input="\n".join(tokens).encode(), capture_output=True, timeout=120 * PATIENCE)
    assert result.returncode in (0, 1), result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def word(verdict: dict) -> str:
    return "accept" if verdict["verdict"] == "accepted" else verdict["reason"]


def unlike(expected: list, found: list) -> list:
    return [(case.id, case.why, case.expect, got) for case, got in zip(expected, found, strict=True) if case.expect != got]


@pytest.fixture
def cases_gateway(start_gateway, tmp_path):
    gateway = start_gateway()
    del gateway.config["issuers"]["own"]
    issuers = token_cases.issuers(tmp_path)
    every = {"issuers": list(issuers), "token_uses": ["access", "id", "session"]}
    route = {"name": "every", "path": "/recorded/every", "access": "required", "upstream": "recorder", **every}
    gateway.config["routes"] = [route]
    gateway.reload({"issuers": issuers})
    return gateway


def test_every_case_has_its_verdict_on_the_command_line(cases_gateway):
    arguments = ["token", "verify", "--config", cases_gateway.config_path, "--route", "every"]
    wrong = []
    for later in sorted({case.now for case in CASES}):
        group = [case for case in CASES if case.now == later]
        found = verdicts([*arguments, "--now", NOW + later], [case.token(NOW) for case in group])
        wrong += unlike(group, list(map(word, found)))
    assert len(CASES) > 200 and not wrong, wrong


@pytest.mark.timeout(300)
def test_every_case_has_its_verdict_and_its_reason_in_the_gateway(cases_gateway, own_recorder):
    gateway, recorder, wrong, bodies = cases_gateway, own_recorder, [], set()
    # Whatever is the same at any time. A blank before a token belongs to the field.
    timeless = [case for case in CASES if not case.now and case.spelt != "space-before"]
    answers = {}
    for case in timeless:
        token = case.token(int(time.time())).encode().decode("latin-1")
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": case.id}
        answers[case.id] = raw.exchange(gateway.port, "GET", "/recorded/every", headers)
    reasons = {}

    def all_logged() -> bool:
        reasons.update({line["request_id"]: line.get("denial_reason") for line in gateway.access_log()})
        return answers.keys() <= reasons.keys()

    wait_until(all_logged, "a line of the access log for each case")
    for case in timeless:
        answer, reason = answers[case.id], reasons[case.id]
        if (answer.status, reason) != ((200, None) if case.expect == "accept" else (401, case.expect)):
            wrong.append((case.id, case.why, case.expect, answer.status, reason))
        elif reason:
            told = json.loads(answer.body)
            assert answer.header("www-authenticate") == CHALLENGE, case.id
            assert told.pop("requestId") == case.id
            bodies.add((reason == "expired", json.dumps(told, sort_keys=True)))
    assert not wrong, wrong
    # One answer to all that is wrong, and one to what has expired.
    assert len(bodies) == 2 and len({expired for expired, _ in bodies}) == 2
    accepted = [case for case in timeless if case.expect == "accept"]
    assert len(recorder.requests_to("/recorded/every")) == len(accepted)
    assert all(request.all("x-auth-subject") and not request.all("authorization") for request in recorder.requests)
    samples = gateway.samples()
    for reason in {case.expect for case in timeless} - {"accept"}:
        count = sum(case.expect == reason for case in timeless)
        assert samples[f'gatehouse_denials_total{{reason="{reason}"}}'] == count, reason
    assert gateway.process.exit_status is None


# Reasons that a token's own text can't give.
ELSEWHERE = {"issuer-not-accepted", "token-revoked"}


def test_the_cases_have_every_reason():
    reasons = json.loads(subprocess.run([str(binary()), "reference"], capture_output=True, check=True).stdout)["reasons"]
    listed = {each["code"] for each in reasons if "token" in each["kinds"]}
    assert {case.expect for case in CASES} - {"accept"} == listed - ELSEWHERE


# MARK: Signatures alone

OF_SIGNATURES = {"bad-signature", "algorithm-not-allowed"}


def test_every_signature_has_its_verdict_by_itself(tmp_path):
    """Whatever is wrong with the claims of a token, its signature is right."""
    token_cases.issuers(tmp_path)
    names = [name for name in token_cases.KEYS if name not in ("stranger", "second")]
    keys = tmp_path / "all.json"
    keys.write_text(json.dumps({"keys": [token_cases.jwk(name) for name in names]}))
    of_the_claims = ("expired", "audience-not-allowed", "client-not-allowed", "subject-invalid", "unknown-issuer", "accept")
    right = [case for case in CASES if case.expect in of_the_claims and case.of != "hmac"]
    found = verdicts(["jws", "verify", "--jwks", keys], [case.token(NOW) for case in right])
    assert len(right) > 60 and {word(verdict) for verdict in found} == {"accept"}
    wrong = [case for case in CASES if case.expect == "bad-signature" and case.of != "hmac"]
    found = verdicts(["jws", "verify", "--jwks", keys], [case.token(NOW) for case in wrong])
    assert len(wrong) > 15 and not unlike(wrong, list(map(word, found)))
