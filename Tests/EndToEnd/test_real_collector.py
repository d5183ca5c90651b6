"""Spans as a collector takes them that others wrote: Arize Phoenix, the one that comes as a Python package."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.gateway import ADA, REPOSITORY
from harness.process import Process, free_port, wait_until

PHOENIX = "arize-phoenix==20.26.1"
TRACE, CLIENT = "5" * 32, "7" * 16
pytestmark = pytest.mark.long


def installed() -> Path:
    """Its program, in an environment of its own: it brings some hundred packages along."""
    environment = REPOSITORY / ".build" / "tools" / "phoenix"
    program = environment / "bin" / "phoenix"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin" / "pip", "install", "--quiet", "--no-input", PHOENIX], check=True)
    return program


@pytest.fixture
def collector(tmp_path):
    """The URL of one that is ready."""
    port = free_port()
    process = Process(
        [str(installed()), "serve"],
        tmp_path / "phoenix.log",
        {
            "PHOENIX_WORKING_DIR": str(tmp_path),
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(free_port()),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        },
    )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return urllib.request.urlopen(f"{url}/healthz", timeout=5).status == 200
        except OSError:
            return False

    try:
        process.wait_ready(answers, "Phoenix", seconds=120)
        yield url
    finally:
        process.stop()


def spans(collector: str) -> list[dict]:
    try:
        with urllib.request.urlopen(f"{collector}/v1/projects/default/spans?limit=100", timeout=10) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError:
        # There is no project before the first span.
        return []


def test_a_collector_of_others_takes_every_span(start_gateway, collector, own_recorder, issuer, pool, ledger):
    tracing = {"endpoint": f"{collector}/v1/traces", "allow_insecure_http": True}
    gateway = start_gateway({"tracing": tracing}, pool=pool)
    header = {"traceparent": f"00-{TRACE}-{CLIENT}-01"}
    target = "/recorded/required/x?code=hidden"
    assert raw.exchange(gateway.port, "GET", target, {**bearer(issuer.access()), **header}).status == 200
    assert Account(gateway.port, ledger, headers=header).login(*ADA).status == 200
    wanted = {"GET required", "GET", "verify token", "POST gatehouse:login", "Cognito InitiateAuth", "store write"}

    def found() -> dict[str, dict]:
        return {each["name"]: each for each in spans(collector) if each["context"]["trace_id"] == TRACE}

    wait_until(lambda: wanted <= set(found()), "its spans", seconds=60, interval=0.5)
    wait_until(lambda: any(each["name"] == "fetch key set" for each in spans(collector)), "a fetch of keys", seconds=30)
    by_name = found()
    request, login = by_name["GET required"], by_name["POST gatehouse:login"]
    assert request["parent_id"] == login["parent_id"] == CLIENT
    assert {by_name[name]["parent_id"] for name in ("GET", "verify token")} == {request["context"]["span_id"]}
    assert {by_name[name]["parent_id"] for name in ("Cognito InitiateAuth", "store write")} == {login["context"]["span_id"]}
    assert request["attributes"]["url.query"] == "code="
    assert request["attributes"]["http.response.status_code"] == 200
    assert gateway.metric("gatehouse_spans_lost_total") == 0
    assert gateway.metric("gatehouse_spans_exported_total") >= len(wanted) + 1
