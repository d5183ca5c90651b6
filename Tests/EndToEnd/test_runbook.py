"""The runbook is true: its commands are the binary's, its metrics and reasons are served, its settings exist."""

import json
import re

import pytest
from harness.deployment import DEPLOY
from harness.gateway import REPOSITORY, gatehouse

TEXT = (DEPLOY / "runbook.md").read_text()
# What is broken over two lines is one.
FLAT = re.sub(r"\s*\n\s*", " ", TEXT)


def commands() -> list[list[str]]:
    found = re.findall(r"(?:`|\s{4}|-u gatehouse )(gatehouse [a-z][^`|<#;]*)", FLAT)
    return sorted({tuple(command.split("  ")[0].split()) for command in found})


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_each_command_is_the_binarys(command):
    words = list(command[1:])
    path = [word for word in words[: next((i for i, w in enumerate(words) if w.startswith("-")), len(words))]]
    result = gatehouse(*path, "--help")
    assert result.returncode == 0
    assert f"gatehouse {' '.join(path)}" in " ".join(result.stdout.split()), f"no such command: {path}"
    for option in (word for word in words if word.startswith("--")):
        assert re.search(rf"{option}\b", result.stdout), f"{' '.join(path)} has no {option}"


def test_there_are_commands():
    assert len(commands()) >= 8


def test_reasons_and_metrics_are_served(gateway):
    _, served = gateway.admin("/metrics")
    reasons = set(re.findall(r'gatehouse_denials_total\{reason="([^"]+)"', served))
    causes = set(re.findall(r'cause="([^"]+)"', served))
    for metric in re.findall(r"\b(gatehouse_[a-z_]+)", TEXT):
        assert metric in served, metric
    quoted = set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", TEXT))
    unknown = quoted - reasons - causes
    assert not unknown, f"no reason, cause: {unknown}"


def test_alerts_are_those_of_the_rules():
    rules = (DEPLOY / "prometheus" / "gatehouse.rules.yaml").read_text()
    for alert in re.findall(r"`(Gatehouse[A-Z]\w+)`", TEXT):
        assert f"alert: {alert}" in rules
    for alert in re.findall(r"alert: (\w+)", rules):
        assert alert in TEXT, f"the runbook says nothing of {alert}"


INCIDENTS = [
    "The identity provider is down",
    "Tokens are refused after a key rotation",
    "The client secret is wrong",
    "Accounts are locked",
    "A certificate has expired",
    "The backend is down",
    "Overload",
    "The disk is full",
    "A clock is wrong",
    "A key or token has leaked",
]


@pytest.mark.parametrize("incident", INCIDENTS)
def test_each_incident_has_how_it_looks_and_what_to_do(incident):
    chapters = dict(re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", TEXT))
    chapter = chapters[incident]
    assert "**Seen**" in chapter and "**Do**" in chapter
    assert re.search(r"`Gatehouse\w+`", chapter), "no alert leads here"
    assert re.search(r"`(gatehouse|systemctl|journalctl|curl|top|df|timedatectl|openssl|sudo) ", chapter), "no command"
    # The table at the beginning leads to it.
    anchor = incident.lower().replace(" ", "-")
    assert f"(#{anchor})" in TEXT.partition("\n## ")[0]


def test_settings_exist():
    schema = json.loads((REPOSITORY / "Config" / "gatehouse.schema.json").read_text())
    names: set[str] = set()

    def collect(node):
        if isinstance(node, dict):
            names.update(node.get("properties", {}))
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(schema)
    # Events of the audit log and fields of logs are written the same way.
    others = {"locked_out", "account_hash", "client_address", "device_info", "denial_reason"}
    for path in re.findall(r"`([a-z]+(?:_[a-z]+)*(?:\.[a-z_]+)+|[a-z]+(?:_[a-z]+)+)`", TEXT):
        if path.startswith("gatehouse_") or path.endswith((".sqlite", ".json")):
            continue
        for name in path.split("."):
            assert name in names | others, f"no setting {path}"


def test_links_lead_somewhere():
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^## (.*)$", TEXT)}
    for anchor in re.findall(r"\]\(#([^)]*)\)", FLAT):
        assert anchor.replace(" ", "") in anchors, anchor
