"""The runbook is true: its commands are the binary's, its metrics and reasons are served, its settings exist."""

import json
import os
import re
import shlex
import subprocess

import pytest
from harness import sanitizer
from harness.deployment import DEPLOY, Root, needs_root
from harness.gateway import REPOSITORY, gatehouse

# The chapters for every gateway, on two pages.
FIRST = (REPOSITORY / "docs" / "runbook.md").read_text()
SECRETS = (REPOSITORY / "docs" / "runbook-secrets.md").read_text()
TEXT = FIRST + SECRETS
# The chapters about a database that gateways share.
SHARED = (REPOSITORY / "docs" / "runbook-postgres.md").read_text()
# The text with its line breaks removed.
FLAT = re.sub(r"\s*\n\s*", " ", TEXT)


def commands() -> list[list[str]]:
    found = re.findall(r"(?:`|\s{4}|sudo )(gatehouse [a-z][^`|<#;]*)", FLAT)
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


ACCOUNT = (64999, 64999)
SETTINGS = """
listeners: [{address: "127.0.0.1:8080"}]
admin: {token: "${ADMIN_TOKEN}"}
state_directory: /var/lib/gatehouse
upstreams: {api: {url: "http://127.0.0.1:8000"}}
issuers:
  first: {profile: cognito, user_pool_id: eu-central-1_AbCdEfGhI, client_ids: [1example23456789abcdefghij]}
  second: {profile: cognito, user_pool_id: eu-central-1_AbCdEfGhJ, client_ids: [1example23456789abcdefghij]}
routes: [{name: api, path: /api/**, access: required, upstream: api}]
"""


def leak_commands() -> list[str]:
    _, _, chapter = TEXT.partition("## A key or token has leaked")
    return re.findall(r"`sudo (gatehouse [^`]*)`", chapter.partition("\n## ")[0])


@needs_root
@pytest.mark.parametrize("command", leak_commands())
def test_the_commands_for_a_leak_work_as_written_and_leave_the_state_to_the_service(tmp_path, command):
    files = {
        "/etc/gatehouse/gatehouse.yaml": SETTINGS,
        "/etc/gatehouse/environment": "# The operator's.\nADMIN_TOKEN='0123456789abcdef'\n",
    }
    root = Root(tmp_path, files, (0, 0))
    os.chmod(root.path / "etc/gatehouse/environment", 0o600)
    os.chown(root.state, *ACCOUNT)
    words = [{"NAME": "first", "SUB": "some-sub", "ID": "some-id"}.get(word, word) for word in shlex.split(command)]

    def run(words: list[str]) -> None:
        clean = {"PATH": os.environ["PATH"], **sanitizer.options()}
        result = subprocess.run(root.inside(words), env=clean, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stderr

    if "rotate" in words:
        # A gateway has made them at its start.
        purpose = words[words.index("--purpose") + 1]
        run(["gatehouse", "keys", "generate", "--environment-file", "/etc/gatehouse/environment", "--purpose", purpose])
    run(words)
    made = list(root.state.iterdir())
    assert made and all((path.stat().st_uid, path.stat().st_gid) == ACCOUNT for path in made)


# A machine with the state directory, an operator who may not look into it, and a sudo.
OPERATOR = r"""
set -eu
mount -t tmpfs -o mode=755 tmpfs /var/lib
install -d -o 64999 -g 64999 -m 0700 /var/lib/gatehouse
install -o 64999 -g 64999 -m 0600 /dev/null /var/lib/gatehouse/gatehouse.sqlite
install -d /var/lib/bin
install -m 4755 "$(command -v setpriv)" /var/lib/bin/become
cat >/var/lib/bin/sudo <<'SUDO'
#!/bin/sh
if [ "$1" = -u ]; then test "$2" = gatehouse; id=64999; shift 2; else id=0; fi
exec become --reuid "$id" --regid "$id" --clear-groups "$@"
SUDO
chmod 755 /var/lib/bin/sudo
cd /
PATH=/var/lib/bin:$PATH setpriv --reuid 65001 --regid 65001 --clear-groups sh -c "$1"
ls -A /var/lib/gatehouse >&2
"""


def disk_commands() -> list[str]:
    _, _, chapter = TEXT.partition("## The disk is full")
    found = re.findall(r"`([a-z]+ [^`]*)`", re.sub(r"\s*\n\s*", " ", chapter.partition("\n## ")[0]))
    return [command for command in found if "/var/lib/gatehouse" in command]


@needs_root
@pytest.mark.parametrize("command", disk_commands())
def test_the_commands_for_a_full_disk_work_as_an_operator_types_them(command):
    namespace = ["unshare", "--mount", "--propagation", "private"]
    result = subprocess.run([*namespace, "bash", "-c", OPERATOR, "sh", command], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "gatehouse.sqlite\n"), result.stdout
    if " du " in f" {command} ":
        assert "gatehouse.sqlite" in result.stdout


def test_the_full_disk_has_commands():
    words = " ".join(disk_commands())
    assert all(word in words for word in ("df -h", "df -i", "du -sh", "touch"))


def test_leaks_have_commands():
    assert len(leak_commands()) >= 5


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
        assert alert in TEXT + SHARED, f"the runbook says nothing of {alert}"


INCIDENTS = [
    "The identity provider is down",
    "Tokens are refused after a key rotation",
    "The client secret is wrong",
    "Accounts are locked",
    "A certificate has expired",
    "A changed file is refused",
    "The backend is down",
    "Overload",
    "The disk is full",
    "The revocation list fills up",
    "A clock is wrong",
    "A key or token has leaked",
]


@pytest.mark.parametrize("incident", INCIDENTS)
def test_each_incident_has_how_it_looks_and_what_to_do(incident):
    chapters = dict(re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", TEXT))
    chapter = chapters[incident]
    assert "**Symptoms**" in chapter and "**Steps**" in chapter
    assert re.search(r"`Gatehouse\w+`", chapter), "no alert leads here"
    assert re.search(r"`(gatehouse|systemctl|journalctl|curl|top|df|timedatectl|openssl|sudo) ", chapter), "no command"
    # The table at the beginning leads to it.
    anchor = incident.lower().replace(" ", "-")
    page = "runbook-secrets.md" if f"## {incident}\n" in SECRETS else ""
    assert f"({page}#{anchor})" in chapters["First steps"]


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
    def anchors(text: str) -> set[str]:
        return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^## (.*)$", text)}

    for page in (FIRST, SECRETS):
        for anchor in re.findall(r"\]\(#([^)]*)\)", re.sub(r"\s*\n\s*", " ", page)):
            assert anchor.replace(" ", "") in anchors(page), anchor
    for anchor in re.findall(r"\]\(runbook-secrets.md#([^)]*)\)", FIRST):
        assert anchor in anchors(SECRETS), anchor
