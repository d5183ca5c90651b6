"""The metrics are those that the README lists, with the labels that it says, and count what happens."""

import re

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.gateway import ADA, REPOSITORY
from harness.process import wait_until


def listed() -> dict[str, tuple[str, set[str]]]:
    """Type and labels of each metric in the README's table."""
    rows = re.findall(r"^\| `(gatehouse_\w+)` \| (\w+) \|([^|]*)\|", (REPOSITORY / "README.md").read_text(), re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def served(text: str) -> dict[str, tuple[str, set[str]]]:
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {name: set() for name in kinds}
    for sample, names in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        name = sample if sample in kinds else re.sub(r"_(bucket|sum|count)$", "", sample)
        labels[name] |= set(re.findall(r'(\w+)="', names)) - ({"le"} if kinds[name] == "histogram" else set())
    return {name: (kinds[name], labels[name]) for name in kinds}


@pytest.fixture
def full(start_gateway, pool, own_recorder):
    """A gateway with everything that has metrics."""
    return start_gateway({"identity": {"assertion": {"issuer": "https://gateway.test"}}}, pool=pool)


def test_the_readme_lists_what_is_served(full, ledger, issuer):
    raw.exchange(full.port, "GET", "/recorded/required/x", bearer(issuer.access()))
    Account(full.port, ledger).login(*ADA)
    raw.exchange(full.port, "POST", "/", {"X-Amz-Target": "AWSCognitoIdentityProviderService.SignUp"}, b"{}")
    wait_until(lambda: "gatehouse_account_calls_total{" in full.admin("/metrics")[1], "the login to be counted")
    assert served(full.admin("/metrics")[1]) == listed()


def test_every_metric_has_a_help_and_is_there_once(full):
    lines = full.admin("/metrics")[1].splitlines()
    names = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(names) == len(set(names))
    assert [line.split()[2] for line in lines if line.startswith("# HELP ") and len(line.split()) > 4] == names
    samples = [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#")]
    assert len(samples) == len(set(samples))


def test_requests_are_counted_by_their_methods_class(full, own_recorder):
    for method in ("GET", "HEAD", "OPTIONS"):
        raw.exchange(full.port, method, "/recorded/public/x")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        raw.exchange(full.port, method, "/recorded/public/x")

    def counted(method: str) -> float:
        return full.samples().get(f'gatehouse_requests_total{{route="public",method="{method}",status="2xx"}}', 0)

    wait_until(lambda: (counted("safe"), counted("unsafe")) == (3, 4), "all seven")


def test_the_gateways_part_is_what_the_upstream_leaves(full, own_recorder):
    raw.exchange(full.port, "GET", "/recorded/public/x")
    raw.exchange(full.port, "GET", "/nowhere")
    wait_until(lambda: full.metric("gatehouse_request_duration_seconds_count") >= 2, "both")
    samples = full.samples()
    assert samples["gatehouse_gateway_duration_seconds_count"] == samples["gatehouse_upstream_duration_seconds_count"] == 1
    whole, upstream, gateway = (
        samples[f"gatehouse_{name}_duration_seconds_sum"] for name in ("request", "upstream", "gateway")
    )
    assert 0 < gateway and upstream + gateway <= whole + 1e-6


def test_the_way_of_a_user_is_counted(full, ledger, pool):
    account = Account(full.port, ledger)

    def calls(operation: str, result: str = "success", reason: str = "") -> float:
        name = f'gatehouse_account_calls_total{{operation="{operation}",result="{result}",reason="{reason}"}}'
        return full.samples().get(name, 0)

    email, password = "funnel@example.com", "Funnel-Horse-77"
    before = {operation: calls(operation) for operation in ("register", "confirm", "login", "refresh")}
    assert account.post("register", {"email": email, "password": password}).status == 201
    assert account.post("confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204
    account.login(email, "A-Wrong-Funnel-Password")
    tokens = account.login(email, password).json()
    account.refresh(tokens["refresh_token"])
    for operation, count in before.items():
        wait_until(lambda: calls(operation) == count + 1, f"{operation} to be counted")
    assert calls("login", "refused", "bad-credentials") == 1
    account.post("forgot-password", {"email": email})
    account.post("reset-password", {"email": email, "code": pool.confirmation_code(email), "new_password": "Reset-Funnel-78"})
    wait_until(lambda: calls("reset-password") == 1 and calls("forgot-password") == 1, "the new password")
    assert full.metric("gatehouse_account_calls_total") == sum(
        value for name, value in full.samples().items() if name.startswith("gatehouse_account_calls_total")
    )
    # They go on through a reload.
    full.reload({"drain_timeout": "9s"})
    assert calls("reset-password") == 1
