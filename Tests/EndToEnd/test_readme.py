"""What the README shows is true: its configuration is good, and its backend code reads the identity."""

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from harness.gateway import check

README = (Path(__file__).parents[2] / "README.md").read_text()


def block(language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert len(found) == 1, f"{len(found)} {language} blocks"
    return found[0]


def test_the_configuration_is_good(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(block("yaml"))
    result = check(path, {"COGNITO_CLIENT_SECRET": "not-a-real-secret"})
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "headers, status, subject",
    [({"X-Auth-Subject": "ada"}, 200, "ada"), ({"X-Auth-Subject": "%C3%A9"}, 200, "é"), ({}, 401, None)],
)
def test_the_backend_code_reads_the_identity(headers, status, subject):
    names: dict = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    answer = TestClient(names["app"]).get("/api/v1/orders", headers=headers)
    assert answer.status_code == status
    if subject:
        assert answer.json() == {"orders_of": subject}
