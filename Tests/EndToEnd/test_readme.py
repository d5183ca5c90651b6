"""What the README shows is true: its configuration is good, and its backend code reads the identity. The code that
verifies assertions is tested in test_assertion.py."""

import pytest
from fastapi.testclient import TestClient
from harness.assertions import readme_blocks
from harness.gateway import check


def test_the_configuration_is_good(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(readme_blocks("yaml")[0])
    result = check(path, {"COGNITO_CLIENT_SECRET": "not-a-real-secret"})
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "headers, status, subject",
    [({"X-Auth-Subject": "ada"}, 200, "ada"), ({"X-Auth-Subject": "%C3%A9"}, 200, "é"), ({}, 401, None)],
)
def test_the_backend_code_reads_the_identity(headers, status, subject):
    names: dict = {}
    exec(compile(readme_blocks("python")[0], "README.md", "exec"), names)
    answer = TestClient(names["app"]).get("/api/v1/orders", headers=headers)
    assert answer.status_code == status
    if subject:
        assert answer.json() == {"orders_of": subject}
