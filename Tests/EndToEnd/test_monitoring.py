"""Alert rules and dashboard: promtool takes them and its tests pass, and each metric, label and label value that they
name is there in what a running gateway serves."""

import json
import re
import shutil
import subprocess
import urllib.parse
from pathlib import Path

import pytest
import yaml
from harness import raw
from harness.account import Account
from harness.certificates import Authority
from harness.deployment import DEPLOY, checked
from harness.gateway import REPOSITORY
from harness.process import SILENT_PORT, free_port, wait_until

RULES = DEPLOY / "prometheus" / "gatehouse.rules.yaml"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((DEPLOY / "grafana" / "gatehouse.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
TESTS = yaml.safe_load((DEPLOY / "prometheus" / "gatehouse.tests.yaml").read_text())["tests"]
# Where the Debian package installs the documentation.
INSTALLED = "/usr/share/doc/gatehouse"
# Labels that Prometheus adds, and metrics of its own.
ADDED = {"instance", "job"}
# Labels whose values the settings name. All others have values that the program names, each of them served from the start
# or after the requests that the fixture makes.
NAMED_BY_SETTINGS = {"route", "upstream", "server", "issuer", "listener", "certificate"}
# Served by gateways that share a PostgreSQL database alone: each metric with every value of its labels.
# Tests/TelemetryTests/MetricsTests.swift shows their samples.
CAUSES = "connection refused tls deadline too-many-waiting read-only unavailable conflict time-limit missing-right other"
OF_SHARED_DATABASE: dict[str, dict[str, set[str]]] = {
    "gatehouse_revocation_list_age_seconds": {},
    "gatehouse_revocation_list_too_old": {},
    "gatehouse_store_callers_waiting": {},
    "gatehouse_store_errors_total": {"cause": set(CAUSES.split())},
    "gatehouse_store_statement_duration_seconds_bucket": {"database": {"postgresql"}, "le": {"0.25", "0.5", "+Inf"}},
    "gatehouse_replicas": {"state": {"alive", "lost"}},
    # Gateways with assertions or sessions of their own serve the first two alone.
    "gatehouse_keys_readable": {"purpose": {"assertion", "session", "sealing", "audit"}},
}
SELECTOR = re.compile(r"\b(gatehouse_\w+|process_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def promtool() -> Path:
    """Debian's, unpacked by deploy/test.sh: its package would start a service."""
    found = REPOSITORY / ".build" / "tools" / "usr" / "bin" / "promtool"
    return found if found.exists() else Path(shutil.which("promtool") or pytest.fail("no promtool: run deploy/test.sh"))


def expressions() -> list[tuple[str, str]]:
    """Where each expression stands, and its text with Grafana's variables put in."""
    from_rules = [(rule["alert"], rule["expr"]) for rule in ALERTS]
    from_panels = [
        (panel["title"], target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*"))
        for panel in PANELS
        for target in panel["targets"]
    ]
    return from_rules + from_panels


@pytest.fixture(scope="module")
def served(run_directory, pool, issuer, shared_recorder, ledger):
    """The samples of a gateway with everything on, after a request of each kind: by metric, all values of each label."""
    from harness.gateway import Gateway, gateway_config

    def user_comes_and_goes() -> None:
        account = Account(gateway.port, ledger)
        email, password = "monitored@example.com", "Monitored-Horse-77"
        account.post("register", {"email": email, "password": password})
        account.post("confirm", {"email": email, "code": pool.confirmation_code(email)})
        tokens = account.login(email, password).json()
        account.refresh(tokens["refresh_token"])
        account.post("forgot-password", {"email": email})
        code = pool.confirmation_code(email)
        assert account.post("reset-password", {"email": email, "code": code, "new_password": "Monitored-78-Pony"}).status == 204
        reset = 'gatehouse_account_calls_total{operation="reset-password",result="success",reason=""}'
        wait_until(lambda: gateway.samples()[reset] == 1, "the calls to be counted")

    directory = run_directory / "monitoring"
    directory.mkdir()
    secure = {"certificates": [Authority(directory).issue("api.test").settings()], "acme": {"names": ["www.test"]}}
    changes = {
        "upstreams": {"recorder": {"health": {"path": "/recorded/public/health"}}},
        "listeners": [{"address": f"127.0.0.1:{free_port()}"}, {"address": f"127.0.0.1:{free_port()}", "tls": secure}],
        "acme": {"directory": f"https://127.0.0.1:{SILENT_PORT}/dir", "accept_terms": True},
    }
    gateway = Gateway(directory, "gateway", gateway_config(directory, shared_recorder.url, issuer.server.url, None, pool, changes))
    try:
        assert raw.exchange(gateway.port, "GET", "/down/x").status == 502
        assert raw.exchange(gateway.port, "GET", "/recorded/public/x").status == 200
        user_comes_and_goes()
        wait_until(lambda: 'status="5xx"' in gateway.admin("/metrics")[1], "the 502 to be counted")
        wait_until(lambda: "gatehouse_key_set_age_seconds{" in gateway.admin("/metrics")[1], "a key set")
        text = gateway.admin("/metrics")[1]
    finally:
        gateway.stop()
    metrics: dict[str, dict[str, set[str]]] = {}
    for name, labels in re.findall(r"(?m)^((?:gatehouse|process)_\w+)(?:\{(.*)\})? \S+$", text):
        found = metrics.setdefault(name, {})
        for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""):
            found.setdefault(label, set()).add(value)
    assert not metrics.keys() & OF_SHARED_DATABASE.keys()
    return metrics | OF_SHARED_DATABASE, text


def test_promtool_takes_the_rules():
    checked(promtool(), "check", "rules", "--lint-fatal", RULES)


def test_each_alert_comes_when_it_should():
    checked(promtool(), "test", "rules", DEPLOY / "prometheus" / "gatehouse.tests.yaml")
    tested = (DEPLOY / "prometheus" / "gatehouse.tests.yaml").read_text()
    for rule in ALERTS:
        assert f'alertname="{rule["alert"]}",alertstate="firing",' in tested, f"no test for {rule['alert']}"


def test_promtool_takes_what_the_gateway_serves(served, tmp_path):
    """Names, help and types as Prometheus wants them."""
    result = subprocess.run([promtool(), "check", "metrics"], input=served[1], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


def test_promtool_takes_the_dashboards_expressions(tmp_path):
    """As recording rules, which is the form in which it parses single expressions."""
    rules = [{"record": f"panel:{number}", "expr": expression} for number, (_, expression) in enumerate(expressions())]
    path = tmp_path / "panels.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    checked(promtool(), "check", "rules", path)


@pytest.mark.parametrize("place, expression", expressions(), ids=lambda value: value[:40] if " " in value or value else "")
def test_what_is_asked_for_is_there(served, place, expression):
    metrics, _ = served
    names = SELECTOR.findall(expression)
    assert names, expression
    for name, matchers in names:
        if name == "up":
            continue
        assert name in metrics, f"{place}: the gateway serves no {name}"
        for label, _, pattern in MATCHER.findall(matchers):
            if label in ADDED:
                continue
            assert label in metrics[name], f"{place}: {name} has no label {label}"
            for value in pattern.split("|"):
                assert value in metrics[name][label], f"{place}: {name} never has {label}={value}"
    grouped = {label.strip() for each in re.findall(r"\b(?:by|without) \(([^)]*)\)", expression) for label in each.split(",")}
    available = {label for name, _ in names for label in metrics.get(name, {})} | ADDED
    assert grouped <= available, f"{place}: no label {grouped - available}"


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test["name"])
def test_alerts_are_tested_with_what_the_gateway_can_serve(served, test):
    """An alert that only made-up series let fire would never come."""
    metrics, _ = served
    for series in (each["series"] for each in test["input_series"]):
        name, _, labels = series.partition("{")
        if name == "up":
            continue
        assert name in metrics, f"the gateway serves no {name}"
        for label, _, value in MATCHER.findall(labels):
            if label in ADDED:
                continue
            assert label in metrics[name], f"{name} has no label {label}"
            if label not in NAMED_BY_SETTINGS:
                assert value in metrics[name][label], f"{name} never has {label}={value}"
    alerts = {rule["alert"] for rule in ALERTS}
    for asked in test["promql_expr_test"]:
        assert set(re.findall(r'alertname="(\w+)"', asked["expr"])) <= alerts


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_legends_name_labels_that_their_expression_keeps(panel):
    for target in panel["targets"]:
        kept = {label.strip() for each in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in each.split(",")}
        assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept


@pytest.mark.parametrize("metric", ["process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds"])
def test_the_dashboard_has_the_process(metric):
    """The gateway's alone: other programs of a machine serve metrics of these names as well."""
    targets = [target["expr"] for panel in PANELS for target in panel["targets"] if f"{metric}{{" in target["expr"]]
    assert len(targets) == 1 and "and on (instance, job) gatehouse_build_info" in targets[0]


def test_the_dashboard_can_be_imported():
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "instance"}
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        for target in panel.get("targets", []):
            assert target["datasource"]["uid"] == "${datasource}"


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_each_alert_says_how_bad_it_is_and_what_to_do(rule):
    assert rule["labels"]["severity"] in ("page", "ticket")
    url = urllib.parse.urlsplit(rule["annotations"]["runbook_url"])
    assert url.scheme == "file" and url.path.startswith(f"{INSTALLED}/")
    path = url.path.removeprefix(f"{INSTALLED}/")
    headings = re.findall(r"(?m)^#+ (.*)$", (REPOSITORY / path).read_text())
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert url.fragment in anchors, f"{path} has no chapter {url.fragment}"


def test_the_runbooks_address_is_replaced_as_the_documentation_says(tmp_path):
    """In the rules' own comment as well, so that both say the same."""
    (command,) = re.findall(r"(?m)^sed .*$", (REPOSITORY / "docs" / "watching.md").read_text())
    assert f"#   {command}\n" in RULES.read_text()
    (tmp_path / "gatehouse.rules.yaml").write_bytes(RULES.read_bytes())
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)
    groups = yaml.safe_load((tmp_path / "gatehouse.rules.yaml").read_text())["groups"]
    urls = [rule["annotations"]["runbook_url"] for group in groups for rule in group["rules"]]
    before = [rule["annotations"]["runbook_url"] for rule in ALERTS]
    assert urls == [url.replace(f"file://{INSTALLED}", "https://docs.example.com/gatehouse") for url in before]
    checked(promtool(), "check", "rules", "--lint-fatal", tmp_path / "gatehouse.rules.yaml")
