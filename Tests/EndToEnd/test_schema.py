"""The settings' JSON Schema: what the binary prints is what is in Config, it takes what the gateway takes, and both
refuse unknown keys and wrong types."""

import copy
import json
import os

import jsonschema
import pytest
from harness import reference
from harness.deployment import checked, tool
from harness.gateway import REPOSITORY, check, gatehouse, gateway_config, merged

SCHEMA = REPOSITORY / "Config" / "gatehouse.schema.json"
SHIPPED = [
    "Config/gatehouse.yaml",
    "Config/quickstart.yaml",
    "deploy/compose/gatehouse.yaml",
    "deploy/debian/gatehouse.yaml",
]


@pytest.fixture(scope="module")
def validator():
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))


@pytest.fixture
def config(tmp_path):
    return gateway_config(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1/jwks.json")


def test_the_file_is_what_the_binary_prints():
    """After a change of the settings: gatehouse schema > Config/gatehouse.schema.json"""
    assert gatehouse("schema").stdout == SCHEMA.read_text()


def test_its_descriptions_are_the_references():
    """After a change of the reference's comments: this test with GATEHOUSE_WRITE=1, then build and print the schema."""
    schema = json.loads(SCHEMA.read_text())
    table = reference.table(schema)
    if os.environ.get("GATEHOUSE_WRITE"):
        reference.TABLE.write_text(table)
    assert reference.TABLE.read_text() == table


def test_every_key_is_described():
    properties = reference.properties(json.loads(SCHEMA.read_text()))
    described = {path: isinstance(each, dict) and each.get("description") or None for path, each in properties.items()}
    assert [path for path, text in described.items() if text is None] == []
    assert described["upstreams.*.keep_alive"].startswith("How long an unused connection stays open. ")
    assert described["limits.http2.resets"].endswith("sends or causes. More of them end the connection")
    assert described["sign_in.more_pools[].flow"] == described["sign_in.cognito.flow"] != ""
    assert described["key_sets"] == "Fetches of the issuers' key sets."


def test_it_is_a_schema():
    checked(tool("check-jsonschema"), "--check-metaschema", SCHEMA)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_has_it(name):
    checked(tool("check-jsonschema"), "--schemafile", SCHEMA, REPOSITORY / name)


def test_the_tests_own_configuration_has_it(validator, config):
    assert not list(validator.iter_errors(config))


UNKNOWN = [
    {"unknown_key": 1},
    {"admin": {"adress": "127.0.0.1:1"}},
    {"upstreams": {"recorder": {"urls": "http://127.0.0.1:1"}}},
    {"issuers": {"own": {"clients": []}}},
    {"limits": {"http2": {"stream": 1}}},
    {"identity": {"assertion": {"issuer": "https://a.example", "audience": "x"}}},
]

# Each is a value that no reading takes, whatever else the file says.
WRONG = [
    {"listeners": {"address": "127.0.0.1:1"}},
    {"listeners": [{"address": "127.0.0.1:1", "http2": "maybe"}]},
    {"threads": "many"},
    {"threads": -1},
    {"admin": {"address": "nowhere"}},
    {"drain_timeout": 30},
    {"drain_timeout": "thirty seconds"},
    {"limits": {"header_bytes": "32k"}},
    {"limits": {"connections": 0}},
    {"logging": {"level": "loud"}},
    {"logging": {"access_log": "yes"}},
    {"logging": {"file": "none"}},
    {"logging": {"access_log_file": False}},
    {"logging": {"access_log_file": "Off"}},
    {"audit": {"log": False}},
    {"audit": {"log": "no"}},
    {"upstreams": {"recorder": {"url": "ftp://127.0.0.1"}}},
    {"upstreams": {"recorder": {"url": ["http://127.0.0.1:1"]}}},
    {"upstreams": {"recorder": {"balance": "random"}}},
    {"upstreams": {"a b": {"url": "http://127.0.0.1:1"}}},
    {"upstreams": {"recorder": {"retries": {"budget": "200%"}}}},
    {"issuers": {"own": {"profile": "saml"}}},
    {"issuers": {"own": {"client_ids": "one"}}},
    {"account_limits": {"sign_in": {"address": "60"}}},
    {"routes": [{"upstream": "recorder"}]},
    {"routes": [{"path": "relative", "upstream": "recorder"}]},
    {"routes": [{"path": "/x", "upstream": "recorder", "methods": ["FETCH"]}]},
    {"routes": [{"path": "/x", "upstream": "recorder", "access": "open"}]},
    {"routes": [{"path": "/x", "upstream": "recorder", "websocket": 7}]},
    {"routes": ...},
    {"routes": [{"path": "/x", "access": "public", "upstream": "recorder", "methods": []}]},
    {"routes": [{"path": "/x", "access": "public", "upstream": "recorder", "cors": {"origins": []}}]},
    {"routes": [{"path": "/x", "upstream": "recorder", "require": {"claims": []}}]},
    {"issuers": {"own": {"audiences": []}}},
    {"issuers": {"own": {"algorithms": []}}},
    {"audit": {"webhook": {"url": "https://a.example", "events": []}}},
]


@pytest.mark.parametrize("changes", UNKNOWN + WRONG, ids=lambda changes: json.dumps(changes, default=str)[:60])
def test_both_refuse_what_is_wrong(tmp_path, validator, config, changes):
    faulty = merged(config, changes)
    assert list(validator.iter_errors(faulty)), "the schema takes it"
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(faulty, indent=2))
    assert check(path).returncode == 78


FORMS = [
    # Values that may be written in more than one way.
    {"routes": [{"path": "/x", "access": "public", "upstream": "recorder", "websocket": True}]},
    {"routes": [{"path": "/x", "access": "public", "upstream": "recorder", "websocket": {"idle_timeout": "5m"}}]},
    {"direct_cognito": "block"},
    {"direct_cognito": {"mode": "block", "hosted_domains": ["login.example.com"]}},
    {"account_limits": {"lockout": "off"}},
    {"account_limits": {"lockout": {"after": 7}}},
    {"identity": {"claims": {"X-Country": ["address", "country"], "X-Tenant": "custom:tenant"}}},
    {"drain_timeout": "${DRAIN}"},
    {"threads": "${THREADS}"},
    {"logging": {"access_log": "${ACCESS_LOG}"}},
    {"limits": None},
    {"audit": {"log": "off"}},
    {"logging": {"file": "./off", "access_log_file": "office.log"}},
    {"upstreams": {"recorder": {"url": "unix:/run/backend.sock"}}},
]


@pytest.mark.parametrize("changes", FORMS, ids=lambda changes: json.dumps(changes)[:60])
def test_both_take_every_form(tmp_path, validator, config, changes):
    good = merged(copy.deepcopy(config), changes)
    if "identity" in changes or "routes" in changes:
        good["routes"] = changes.get("routes", good["routes"])
    errors = [error.message for error in validator.iter_errors(good)]
    assert not errors
    path = tmp_path / "gatehouse.yaml"
    path.write_text(json.dumps(good, indent=2))
    result = check(path, {"DRAIN": "10s", "THREADS": "2", "ACCESS_LOG": "false"})
    assert result.returncode == 0, result.stderr
