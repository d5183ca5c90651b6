"""The metrics are those of the reference, with its types and labels, and count what happens."""

import json
import re
import time
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.certificates import Authority
from harness.gateway import ADA, gatehouse
from harness.h2raw import H2Connection, request
from harness.process import SILENT_PORT, free_port, wait_until


def listed() -> dict[str, tuple[str, set[str]]]:
    """Type and labels of each metric in the program's own list."""
    metrics = json.loads(gatehouse("reference").stdout)["metrics"]
    return {metric["name"]: (metric["type"], set(metric["labels"])) for metric in metrics}


def served(text: str) -> dict[str, tuple[str, set[str]]]:
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {name: set() for name in kinds}
    for sample, names in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        name = sample if sample in kinds else re.sub(r"_(bucket|sum|count)$", "", sample)
        labels[name] |= set(re.findall(r'(\w+)="', names)) - ({"le"} if kinds[name] == "histogram" else set())
    return {name: (kinds[name], labels[name]) for name in kinds}


@pytest.fixture
def full(start_gateway, pool, own_recorder, tmp_path):
    """A gateway with everything that has metrics."""
    secure = {"certificates": [Authority(tmp_path).issue("api.test").settings()]}
    listeners = [{"address": f"127.0.0.1:{free_port()}"}, {"address": f"127.0.0.1:{free_port()}", "tls": secure}]
    listeners[1]["tls"]["acme"] = {"names": ["www.test"]}
    acme = {"directory": f"https://127.0.0.1:{SILENT_PORT}/dir", "accept_terms": True}
    changes = {"identity": {"assertion": {"issuer": "https://gateway.test"}}, "listeners": listeners, "acme": acme}
    return start_gateway(changes, pool=pool)


def test_the_reference_lists_what_is_served(full, ledger, issuer, replicas):
    raw.exchange(full.port, "GET", "/recorded/required/x", bearer(issuer.access()))
    Account(full.port, ledger).login(*ADA)
    raw.exchange(full.port, "POST", "/", {"X-Amz-Target": "AWSCognitoIdentityProviderService.SignUp"}, b"{}")
    signed_in = 'gatehouse_account_calls_total{operation="login",result="success",reason=""}'
    wait_until(lambda: full.samples()[signed_in] == 1, "the login to be counted")
    with_shared_state = served(replicas[0].admin("/metrics")[1])
    alone = served(full.admin("/metrics")[1])
    assert {**with_shared_state, **alone} == listed()


def test_sign_ins_are_counted_by_method_and_result(full, ledger):
    app = Account(full.port, ledger)
    assert app.login(*ADA).status == 200
    assert app.login(ADA[0], "Wrong-Horse-1").status == 401
    assert app.post("login", {"email": 5}).status == 422
    samples = full.samples()
    counts = {name: count for name, count in samples.items() if name.startswith("gatehouse_sign_ins_total")}
    assert len(counts) == 21
    assert {name: count for name, count in counts.items() if count} == {
        'gatehouse_sign_ins_total{method="password",result="success"}': 1,
        'gatehouse_sign_ins_total{method="password",result="refused"}': 2,
    }


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
    durations = [
        {
            value: samples.get(f'gatehouse_{part}_duration_seconds_{value}{{route="{route}"}}') for value in ("count", "sum")
        }
        for route, part in (("public", "request"), ("public", "upstream"), ("public", "gateway"), ("none", "request"))
    ]
    assert [each["count"] for each in durations] == [1, 1, 1, 1]
    assert samples['gatehouse_upstream_duration_seconds_count{route="none"}'] == 0
    whole, upstream, gateway = (each["sum"] for each in durations[:3])
    assert 0 < gateway and upstream + gateway <= whole + 1e-6


def test_what_cognito_takes_of_an_account_call_is_told_apart(full, ledger):
    response = Account(full.port, ledger).login(*ADA)
    line = full.access_line(response.header("x-request-id"))
    assert 0 < line["upstream_duration_us"] <= line["duration_us"]
    wait_until(lambda: full.samples()['gatehouse_upstream_duration_seconds_count{route="gatehouse:login"}'] == 1, "the login")
    sums = {
        part: full.samples()[f'gatehouse_{part}_duration_seconds_sum{{route="gatehouse:login"}}']
        for part in ("request", "upstream", "gateway")
    }
    assert abs(sums["upstream"] - line["upstream_duration_us"] / 1e6) < 1e-6
    assert abs(sums["upstream"] + sums["gateway"] - sums["request"]) < 1e-5


def test_the_process_itself_is_measured(full):
    def number(name: str) -> float:
        return full.metric(name)

    process = Path(f"/proc/{full.process.pid}")

    def memory(field: str) -> int:
        return int(re.search(rf"{field}:\s+(\d+)", (process / "status").read_text())[1]) * 1024

    assert number("process_open_fds") <= number("process_max_fds")
    # Soon after its start, what runs beside requests still opens files and takes memory.
    wait_until(lambda: abs(number("process_open_fds") - len(list((process / "fd").iterdir()))) <= 4, "its open files")
    for name, field in (("resident", "VmRSS"), ("anonymous", "RssAnon")):
        wait_until(
            lambda: abs(number(f"process_{name}_memory_bytes") - memory(field)) < 8 << 20, f"its {name} memory"  # noqa: B023
        )
    assert 0 < number("process_anonymous_memory_bytes") < number("process_resident_memory_bytes")
    assert abs(time.time() - number("process_start_time_seconds")) < 60
    before = number("process_cpu_seconds_total")
    wait_until(lambda: raw.exchange(full.port, "GET", "/nowhere") and number("process_cpu_seconds_total") > before, "some work")
    (version,) = [name for name in full.samples() if name.startswith("gatehouse_build_info")]
    assert version == f'gatehouse_build_info{{version="{gatehouse("--version").stdout.strip()}"}}'


def test_a_first_failure_is_seen_as_one(full):
    kinds = [f'route="down",method="{method}",status="{status}"' for method in ("safe", "unsafe") for status in ("2xx", "4xx", "5xx")]
    assert [full.samples()[f"gatehouse_requests_total{{{kind}}}"] for kind in kinds] == [0] * 6
    raw.exchange(full.port, "GET", "/down/x")
    wait_until(lambda: full.samples()['gatehouse_requests_total{route="down",method="safe",status="5xx"}'] == 1, "it to be counted")


def test_the_way_of_a_user_is_counted(full, ledger, pool):
    account = Account(full.port, ledger)

    def calls(operation: str, result: str = "success", reason: str = "") -> float:
        name = f'gatehouse_account_calls_total{{operation="{operation}",result="{result}",reason="{reason}"}}'
        # There from the start, or increase() would not see the first of them.
        return full.samples()[name]

    email, password = "funnel@example.com", "Funnel-Horse-77"
    before = {operation: calls(operation) for operation in ("register", "confirm", "login", "refresh")}
    resets = ("forgot-password", "reset-password")
    assert [*before.values(), *map(calls, resets), calls("login", "refused", "bad-credentials")] == [0] * 7
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


def test_streams_are_open_until_they_end(full, own_recorder):
    def streams() -> tuple[float, float]:
        return full.metric("gatehouse_http2_streams_open"), full.metric("gatehouse_http2_streams_total")

    assert streams() == (0, 0)
    with H2Connection(full.port) as connection:
        first, second = (
            connection.open(request("POST", "/recorded/public/x", ("content-length", "3")), end=False) for _ in range(2)
        )
        wait_until(lambda: streams() == (2, 2), "both to be open")
        connection.data(first, b"abc", end=True)
        assert connection.response(first).status == 200
        wait_until(lambda: streams() == (1, 2), "one to have ended")
        # Whoever looked whether the gateway is up may not have been seen to go yet.
        wait_until(lambda: full.metric("gatehouse_client_connections_open") == 1, "one connection")
    wait_until(lambda: streams() == (0, 2), "the other to go with its connection")


def test_idle_connections_to_a_server_are_counted(full, own_recorder):
    def idle() -> float:
        found = [value for name, value in full.samples().items() if "connections_idle{" in name and 'upstream="recorder"' in name]
        assert len(found) == 1
        return found[0]

    assert idle() == 0
    raw.exchange(full.port, "GET", "/recorded/public/x")
    wait_until(lambda: idle() == 1, "the connection to be idle")
    full.reload({"upstreams": {"recorder": {"maximum_idle_connections": 7}}})
    wait_until(lambda: idle() == 0, "the old settings' connection to be closed")


def test_how_long_sessions_lasted(full, ledger, pool):
    """By what ended them, and each once, however often its tokens are shown again."""
    account = Account(full.port, ledger)

    def ended() -> dict[str, float]:
        found = re.findall(r'^gatehouse_session_length_seconds_count\{end="([^"]+)"\} (\d+)$', full.admin("/metrics")[1], re.M)
        return {end: int(count) for end, count in found if count != "0"}

    assert ended() == {}
    tokens = account.login(*ADA).json()
    assert account.logout(refresh_token=tokens["refresh_token"]).status == 204
    wait_until(lambda: ended() == {"sign-out": 1}, "the sign-out")
    assert account.refresh(tokens["refresh_token"]).status == 401
    tokens = account.login(*ADA).json()
    assert account.logout(tokens["access_token"]).status == 204
    wait_until(lambda: ended() == {"sign-out": 2}, "the second one")
    one, other = account.login(*ADA).json(), account.login(*ADA).json()
    assert account.logout(one["access_token"], all_devices=True).status == 204
    assert account.refresh(other["refresh_token"]).status == 401
    wait_until(lambda: ended() == {"sign-out": 3, "revocation": 1}, "the session of the other device")
    email, password = "leaver@example.com", "Leaver-Horse-77"
    assert account.post("register", {"email": email, "password": password}).status == 201
    assert account.post("confirm", {"email": email, "code": pool.confirmation_code(email)}).status == 204
    tokens = account.login(email, password).json()
    assert account.send("DELETE", "me", token=tokens["access_token"]).status == 204
    wait_until(lambda: ended() == {"sign-out": 3, "revocation": 1, "deletion": 1}, "the account's end")
    sums = {name: value for name, value in full.samples().items() if name.startswith("gatehouse_session_length_seconds_sum")}
    assert sum(sums.values()) < 120


def test_what_a_client_makes_up_makes_no_series(full, ledger, own_recorder):
    """Methods, paths, apps, operations, tokens and account fields of a client's own, by the hundred."""
    account = Account(full.port, ledger)

    def flood(round: int, count: int) -> None:
        for number in range(count):
            name = f"made-up-{round}-{number}"
            raw.exchange(full.port, f"M{round}X{number}", f"/recorded/public/{name}")
            raw.exchange(full.port, "GET", f"/{name}/{name}?{name}={name}", {"Host": f"{name}.test"})
            raw.exchange(full.port, "GET", "/recorded/required/x", bearer(f"{name}.{name}.{name}"))
            for operation in (f"AWSCognitoIdentityProviderService.{name}", "AWSCognitoIdentityProviderService.SignUp"):
                raw.exchange(full.port, "POST", "/", {"X-Amz-Target": operation, "User-Agent": f"{name}/1.0"}, b"{}")
            if number % 10 == 0:
                device = {"device_id": name, "platform": name}
                account.login(f"{name}@example.com", f"Secret-Number-{round}-{number}", device_info=device)
                account.refresh(f"secret-refresh-{round}-{number}")

    def series() -> set[str]:
        return set(full.samples())

    flood(0, 3)
    first = series()
    seen = set(first)
    for round in range(1, 5):
        flood(round, 60)
        now = series()
        seen |= now
        apps = {name for name in now if "_applications_total{" in name}
        assert {re.search(r'operation="([^"]*)"', name)[1] for name in apps} <= {"SignUp", "other"}
        others = {name for name in now - first if "_applications_total{" not in name}
        assert not any("made-up" in name or "M1X" in name for name in others), others
    apps = {re.search(r'application="([^"]*)"', name)[1] for name in seen if "_applications_total{" in name}
    assert len(apps) <= 201
    # Further new samples have reasons and classes from closed lists that had not occurred before.
    assert len(seen - first) <= 2 * 201 + 40
