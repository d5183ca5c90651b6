"""The mistakes of a first configuration: what `check` says of each is one error, at its place, with what to write."""

import json
import signal

import pytest
from harness import documentation
from harness.gateway import check, gatehouse, run
from harness.process import wait_until

GOOD = """\
listeners:
  - address: 127.0.0.1:8080
    server_names: [api.example.com]
upstreams:
  api:
    url: http://127.0.0.1:9000
routes:
  - name: api
    path: /api/v1/**
    access: public
    upstream: api
    rate_limit: {rate: 60/1m}
    cors: {origins: ["https://app.example"]}
"""
TAB = "the line begins with a tab: indent with spaces"
# A line of GOOD → what somebody writes → the line and column of the error, and the hint.
NO_YAML = {
    "a tab before a key": ("    url: http", "\turl: http", (6, 1), TAB),
    "a tab behind spaces": ("    server_names", "  \tserver_names", (3, 3), TAB),
    "a colon in a value": ("  - name: api\n", "  - name: api: orders\n", (8, 14), 'put a value that contains ": " in quotes'),
    "an asterisk": ("    path: /api/v1/**", "    path: **", (9, 12), 'put a value that begins with "*" in quotes'),
    "an at sign": ("  - name: api\n", "  - name: @api\n", (8, 11), 'put a value that begins with "@" in quotes'),
    "quotes left open": ("    path: /api/v1/**", "    path: '/api/v1/**", (14, 1), "close the quotes of the value"),
    "a bracket left open": (
        "[api.example.com]", "[api.example.com", (4, 10), "close the [ or { before it, or put its value in quotes",
    ),
    "a colon left out": ("  api:\n", "  api\n", (6, 8), "indent the line as its neighbours, or end the line above with a colon"),
}


def written(tmp_path, old: str, new: str):
    assert GOOD.count(old) == 1
    path = tmp_path / "gatehouse.yaml"
    path.write_text(GOOD.replace(old, new))
    return path


def test_the_configuration_of_these_tests_is_good(tmp_path):
    path = tmp_path / "gatehouse.yaml"
    path.write_text(GOOD)
    result = check(path)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("case", NO_YAML)
def test_what_is_no_yaml_is_told_with_line_column_and_hint(tmp_path, case):
    old, new, (line, column), hint = NO_YAML[case]
    path = written(tmp_path, old, new)
    for command in ("check", "serve"):
        result = run(command, path)
        (told,) = result.stderr.splitlines()
        assert result.returncode == 78
        assert told.startswith(f"{path}:{line}:{column}: not valid YAML: "), told
        assert told.endswith(f" ({hint})"), told
    (fault,) = json.loads(gatehouse("check", "--config", path, "--json").stdout)["faults"]
    assert (fault["line"], fault["column"], fault["key"]) == (line, column, "")
    assert told == f"{path}:{line}:{column}: {fault['message']}"


def test_the_documentation_shows_one(tmp_path):
    path = written(tmp_path, *NO_YAML["a colon in a value"][:2])
    assert check(path).stderr == f"{path.parent}/" + documentation.block("configuration.md", "yaml-error")


def test_lines_that_end_as_on_windows_have_the_same_hint(tmp_path):
    path = written(tmp_path, "    url: http", "\turl: http")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert check(path).stderr.endswith(f" ({TAB})\n")


def test_the_log_of_a_reload_has_the_place_too(start_gateway):
    gateway = start_gateway()
    gateway.config_path.write_text(GOOD.replace("    url: http", "\turl: http"))
    gateway.process.signal(signal.SIGHUP)
    wait_until(lambda: "configuration not reloaded" in gateway.log(), "the refusal of the reload")
    (told,) = [line for line in gateway.log().splitlines() if "configuration error" in line]
    assert f"{gateway.config_path}:6:1: not valid YAML: " in told and TAB in told


RATE = "must be a rate like 60/1m or 5/1h"
PARAMETER = '"*" stands for any one segment, and {sub} for one that is the token\'s subject'
MISTAKES = {
    # A text of GOOD → its replacement → the one error, behind the file's name.
    "a rate per min": (
        "60/1m", "60/min", f'12: routes[0].rate_limit.rate: {RATE}, per 1s to 1d (got "60/min"; did you mean "60/1m"?)',
    ),
    "a rate in words": (
        "60/1m", "60 per minute", f'12: routes[0].rate_limit.rate: {RATE} (got "60 per minute"; did you mean "60/1m"?)',
    ),
    "nginx's rate": ("60/1m", "10r/s", f'12: routes[0].rate_limit.rate: {RATE} (got "10r/s"; did you mean "10/1s"?)'),
    "a rate without time": ("60/1m", "60", f'12: routes[0].rate_limit.rate: {RATE} (got "60")'),
    "a parameter in a path": (
        "/api/v1/**", "/users/{id}/photo", f'9: routes[0].path: {PARAMETER} (got "/users/{{id}}/photo"; did you mean "/users/*/photo"?)',
    ),
    "Flask's parameter": (
        "/api/v1/**", "/users/<id>", f'9: routes[0].path: {PARAMETER} (got "/users/<id>"; did you mean "/users/*"?)',
    ),
    "a path at an upstream": (
        "http://127.0.0.1:9000", "http://127.0.0.1:9000/v2",
        "6: upstreams.api.url: must have no path: the client's own is sent on; add_prefix of a route puts one before it "
        '(got "http://127.0.0.1:9000/v2")',
    ),
    "a slash behind an origin": (
        "https://app.example", "https://app.example/",
        '13: routes[0].cors.origins[0]: must not end with "/": browsers send none '
        '(got "https://app.example/"; did you mean "https://app.example"?)',
    ),
    "upstream for upstreams": ("upstreams:\n", "upstream:\n", '4: upstream: unknown key (did you mean "upstreams"?)'),
    "listener for listeners": ("listeners:\n", "listener:\n", '1: listener: unknown key (did you mean "listeners"?)'),
    "route for routes": ("routes:\n", "route:\n", '7: route: unknown key (did you mean "routes"?)'),
    "adress for address": ("- address:", "- adress:", '2: listeners[0].adress: unknown key (did you mean "address"?)'),
    "a misspelled section of a listener": (
        "    server_names: [api.example.com]", "    proxy_protocl: {trusted: [10.0.0.1]}",
        '3: listeners[0].proxy_protocl: unknown key (did you mean "proxy_protocol"?)',
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_each_mistake_is_one_error(tmp_path, case):
    old, new, expected = MISTAKES[case]
    path = written(tmp_path, old, new)
    result = check(path)
    assert (result.returncode, result.stderr) == (78, f"{path}:{expected}\n")


def test_what_is_meant_is_good(tmp_path):
    """The suggestions, and `add_prefix` for the path of an upstream."""
    for old, new in [
        ("60/1m", "10/1s"), ("/api/v1/**", "/users/*/photo"), ("    path:", "    add_prefix: /v2\n    path:"),
    ]:
        result = check(written(tmp_path, old, new))
        assert (result.returncode, result.stderr) == (0, ""), new


def test_a_suggestion_does_not_show_a_variables_value(tmp_path):
    path = written(tmp_path, "60/1m", "'${RATE}'")
    result = check(path, {"RATE": "7351/min"})
    assert result.returncode == 78 and "routes[0].rate_limit.rate: must be a rate" in result.stderr
    assert "7351" not in result.stdout + result.stderr
