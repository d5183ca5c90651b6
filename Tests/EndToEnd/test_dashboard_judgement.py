"""The dashboard's evaluation of two readings, and the problems that it reports: its own functions, in Chromium."""

import json

import pytest
from harness.browser import Page

SERIES = 'gatehouse_requests_total{route="a",status="2xx"}'
BUCKETS = {"0.001": 50, "0.01": 90, "+Inf": 100}


def measured(page: Page, *samples: tuple[float, int, dict[str, float]], asked: str):
    """Evaluates readings of (seconds, start, values by sample)."""
    texts = ["".join(f"{name} {value}\n" for name, value in values.items()) for _, _, values in samples]
    readings = [[time, start, text] for (time, start, _), text in zip(samples, texts, strict=True)]
    add = f"for (const [time, start, text] of {json.dumps(readings)}) r.add(time, start, parseMetrics(text));"
    return page.run(f"(() => {{ const r = new Readings(); {add} return {asked}; }})()")


def test_rates_are_differences_and_begin_anew_with_the_process(functions):
    rate = "r.rate('gatehouse_requests_total', 60)"
    assert measured(functions, (0, 1, {SERIES: 100}), asked=rate) is None
    assert measured(functions, (0, 1, {SERIES: 100}), (20, 1, {SERIES: 200}), asked=rate) == 5
    # A route that was not there before, one that has gone, and a reading that is too old.
    other = SERIES.replace('"a"', '"b"')
    assert measured(functions, (0, 1, {}), (20, 1, {other: 40}), asked=rate) == 2
    assert measured(functions, (0, 1, {SERIES: 100, other: 5}), (20, 1, {other: 25}), asked=rate) == 1
    far = [(0, 1, {SERIES: 0}), (100, 1, {SERIES: 1000}), (120, 1, {SERIES: 1020})]
    assert measured(functions, *far, asked=rate) == 1
    # Another process counts from nought, and so does a counter that has become smaller.
    again = [(0, 1, {SERIES: 100}), (20, 2, {SERIES: 3})]
    assert measured(functions, *again, asked=rate) is None
    assert measured(functions, *again, (40, 2, {SERIES: 23}), asked=rate) == 1
    assert measured(functions, (0, 1, {SERIES: 100}), (20, 1, {SERIES: 40}), asked=rate) == 2


def test_labels_are_read_as_they_were_written(functions):
    name = 'x{application="a\\"b\\\\n\\nc",operation="}, {"}'
    read = measured(functions, (0, 1, {name: 7}), asked="r.samples('x').map((each) => [each.labels, each.value])")
    assert read == [[{"application": 'a"b\\n\nc', "operation": "}, {"}, 7]]


@pytest.mark.parametrize(
    ("share", "counts", "value", "kind"),
    [
        (0.5, BUCKETS, 0.001, "below"),
        (0.7, BUCKETS, 0.0055, "exact"),
        (0.9, BUCKETS, 0.01, "exact"),
        (0.99, BUCKETS, 0.01, "above"),
        (0.5, dict.fromkeys(BUCKETS, 0), None, None),
        (0.5, {"0.001": 0, "0.01": 4, "+Inf": 4}, 0.0055, "exact"),
    ],
)
def test_quantiles_are_read_off_the_buckets_since(functions, share, counts, value, kind):
    # The earlier contents of the buckets do not count.
    before = {f'd_bucket{{le="{limit}"}}': 1000 for limit in counts}
    after = {f'd_bucket{{le="{limit}"}}': 1000 + number for limit, number in counts.items()}
    found = measured(functions, (0, 1, before), (10, 1, after), asked=f"r.quantile('d', {share}, 60)")
    assert found == value if value is None else (found["value"], found["kind"]) == (pytest.approx(value), kind)


def test_quantiles_are_of_all_series_or_of_some(functions):
    samples = {
        'd_bucket{route="a",le="0.001"}': 90,
        'd_bucket{route="a",le="+Inf"}': 90,
        'd_bucket{route="b",le="0.001"}': 0,
        'd_bucket{route="b",le="+Inf"}': 10,
    }

    def kind(matches: str) -> str:
        return measured(functions, (0, 1, {}), (10, 1, samples), asked=f"r.quantile('d', 0.9, 60, {matches})")["kind"]

    assert [kind("undefined"), kind("(labels) => labels.route === 'b'")] == ["below", "above"]


# ---- What needs attention

DAY = 86_400
ISSUER = "status.issuers[0]"
# Changes of a sound status, and the problems that they cause.
FAULTS = [
    ("status.ready = false", "bad", "Not ready: waiting for key sets. Load balancers send nothing."),
    (
        f"{ISSUER}.keys = 0; {ISSUER}.key_failures = 1",
        "bad",
        "Tokens of own cannot be verified: there is no key set, after 1 failed fetch",
    ),
    (
        f"Object.assign({ISSUER}, {{keys_due_in_seconds: -600, keys_end_in_seconds: 7200}})",
        "warn",
        "The keys of own should have been fetched again 10 min ago, and serve for 2 h 0 min more",
    ),
    (
        f"Object.assign({ISSUER}, {{keys_due_in_seconds: -600, keys_end_in_seconds: 60}})",
        "bad",
        "The keys of own should have been fetched again 10 min ago, and serve for 1 min more",
    ),
    (
        "status.store = {writable: false, needed: true, error: 'database or disk is full (SQLite 13)'}",
        "bad",
        "The store cannot be written, no sign-in, refresh or sign-out can be stored: database or disk is full (SQLite 13)",
    ),
    (
        "status.store = {writable: false, needed: false, error: 'database is locked (SQLite 5)'}",
        "bad",
        "The store cannot be written, no revocation can be stored: database is locked (SQLite 5)",
    ),
    (
        "status.revocation_list = {age_seconds: 6, too_old: false, notified: true}",
        "warn",
        "The list of revocations is 6 s old: what other gateways revoke is not known here",
    ),
    (
        "status.revocation_list = {age_seconds: 90, too_old: false, notified: false}",
        "bad",
        "The list of revocations is 1 min old: what other gateways revoke is not known here",
    ),
    (
        "status.revocation_list = {age_seconds: 301, too_old: true, notified: false}",
        "bad",
        "The list of revocations is 5 min old: no token is accepted until the database can be read",
    ),
    (
        "status.replicas = [replica({this: true}), replica({state: 'lost', heard_seconds_ago: 15})]",
        "warn",
        "Gateway api-1 (5f0c9e2a) has not been heard of for 15 s, and did not end in good order",
    ),
    (
        "status.replicas = [replica({this: true}), replica({list_age_seconds: 7})]",
        "warn",
        "Gateway api-1 (5f0c9e2a) has a list of revocations that is 7 s old",
    ),
    (
        "status.replicas = [replica({this: true}), replica({version: '1.1'}), replica({version: '0.9', state: 'ended'})]",
        "note",
        "Gateways run different versions: 1.0, 1.1",
    ),
    (
        "status.replicas = [replica({this: true}), replica({configuration: 'other'})]",
        "note",
        "Gateways run different configurations",
    ),
    (
        "status.sign_ins = [{issuer: 'pool', client_id: 'c', refused: 'unknown-issuer', differences: ["
        "{name: 'iss', expected: ['https://a', 'https://b'], got: 'https://c', seconds_off: null}, "
        "{name: 'client_id', expected: ['c'], got: null, seconds_off: null}, "
        "{name: 'exp', expected: ['after T'], got: 'S', seconds_off: 90}]}]",
        "bad",
        'Users sign in at pool, and the gateway refuses their tokens as unknown-issuer: iss should be "https://a" or '
        '"https://b" and is "https://c"; client_id should be "c" and is missing; exp should be after T and is S, which is '
        "90 s off",
    ),
    (
        "status.sign_ins = [{issuer: 'pool', client_id: 'c', refused: 'bad-signature', differences: []}]",
        "bad",
        "Users sign in at pool, and the gateway refuses their tokens as bad-signature",
    ),
    (f"certify({10 * DAY})", "warn", "The certificate of a.example on 0.0.0.0:443 expires in 10 d 0 h"),
    (f"certify({2 * DAY})", "bad", "The certificate of a.example on 0.0.0.0:443 expires in 2 d 0 h"),
    (f"certify({10 * DAY}, 'admin')", "warn", "The certificate of a.example on the admin listener expires in 10 d 0 h"),
    ("certify(-120)", "bad", "The certificate of a.example on 0.0.0.0:443 expired 2 min ago"),
    (
        "order({obtained_at: null, expires_at: null, failures: 2, next_in: 900})",
        "bad",
        "There is no certificate of a.example after 2 failed orders: the next order is in 15 min",
    ),
    (
        f"order({{failures: 0, left: {20 * DAY}, next_in: -1}})",
        "note",
        "The certificate of a.example is valid for 20 d 0 h, and not renewed",
    ),
    (
        f"order({{failures: 3, left: {20 * DAY}, next_in: 60}})",
        "warn",
        "The certificate of a.example is valid for 20 d 0 h, and not renewed after 3 failed orders: the next order is in 1 min",
    ),
    (
        f"order({{failures: 1, left: {2 * DAY}, next_in: 60}})",
        "bad",
        "The certificate of a.example is valid for 2 d 0 h, and not renewed after 1 failed order: the next order is in 1 min",
    ),
    ("order({failures: 1, left: -9, next_in: -5})", "bad", "There is no certificate of a.example after 1 failed order"),
    ("status.limits.requests = {limit: 100, in_flight: 80}", "warn", "Requests in flight: 80 of at most 100"),
    ("status.limits.revocations = {limit: 100, held: 95}", "bad", "Stored revocations: 95 of at most 100"),
    ("status.outbox = {lost: 1, waiting: 0}", "warn", "1 message to backends were given up since the start"),
    (
        "server.drained = true; status.upstreams[0].servers.push({...server, name: 'b', drained: false})",
        "note",
        "Upstream recorder: a is drained (by an operator)",
    ),
    (
        "server.healthy = false; status.upstreams[0].servers.push({...server, name: 'b', healthy: true})",
        "warn",
        "Upstream recorder: a is down (checks fail)",
    ),
    (
        "server.serving = false",
        "bad",
        "Upstream recorder has no server that takes requests: a is ejected (after failures)",
    ),
    (
        "later('gatehouse_log_lines_lost_total{log=\"access\"}', 3)",
        "bad",
        "3 lines of the access log could not be written, 3 of them in the last 1 min",
    ),
    (
        "first('gatehouse_log_lines_lost_total{log=\"audit\"}', 1)",
        "warn",
        "1 line of the audit log could not be written, none of them lately",
    ),
    (
        "later('gatehouse_denials_total{reason=\"client-secret-refused\"}', 1)",
        "bad",
        "Cognito does not take the client secret: 1 request refused as client-secret-refused in the last 1 min",
    ),
    (
        "later('gatehouse_sign_ins_total{method=\"password\",result=\"refused\"}', 10); "
        "later('gatehouse_account_calls_total{operation=\"login\",result=\"refused\",reason=\"bad-credentials\"}', 10)",
        "warn",
        "More sign-ins fail than succeed: 10 against 0 in the last 1 min, mostly bad-credentials",
    ),
    (
        "later('gatehouse_sign_ins_total{method=\"password\",result=\"success\"}', 2); "
        "later('gatehouse_sign_ins_total{method=\"federated\",result=\"refused\"}', 12); "
        "later('gatehouse_account_calls_total{operation=\"oauth-token\",result=\"refused\",reason=\"invalid-code\"}', 12)",
        "warn",
        "More sign-ins fail than succeed: 12 against 2 in the last 1 min, mostly invalid-code",
    ),
    (
        "later('gatehouse_sign_ins_total{method=\"translated\",result=\"refused\"}', 11)",
        "warn",
        "More sign-ins fail than succeed: 11 against 0 in the last 1 min",
    ),
]


def judged(page: Page, change: str) -> list[dict]:
    """The problems of a status after a change, or of readings a minute apart."""
    return page.run(
        f"""ask("status").then((text) => {{
            const status = JSON.parse(text), values = [{{}}, {{}}], readings = new Readings();
            const later = (name, value) => {{ values[1][name] = value; }};
            const first = (name, value) => {{ values[0][name] = values[1][name] = value; }};
            const certify = (left, where = "clients") => {{
                const certificates = [{{names: ["a.example"], expires_at: serverTime(status) + left}}];
                if (where === "admin") status.admin_certificates = certificates;
                else Object.assign(status.listeners[0], {{address: "0.0.0.0:443", certificates}});
            }};
            const order = ({{left = null, next_in: next, ...rest}}) => {{
                status.acme = [{{
                    name: "a.example", obtained_at: 1, expires_at: left === null ? null : serverTime(status) + left,
                    next_attempt_at: serverTime(status) + next, error: "refused", failing_since: 11, ...rest,
                }}];
            }};
            const replica = (change) => ({{
                id: "5f0c9e2ab47d4c11", name: "api-1", this: false, state: "alive", version: "1.0", configuration: "d",
                started_at: 1, heard_seconds_ago: 1, list_age_seconds: 0, ...change,
            }});
            const server = {{...status.upstreams[0].servers[0], name: "a", healthy: null, serving: true, drained: false}};
            status.upstreams = [{{name: "recorder", servers: [server]}}];
            Object.assign(status, {{ready: true, draining: false, refusals: [], route_errors: []}});
            Object.assign(status.outbox, {{lost: 0, waiting: 0}});
            {change};
            values.forEach((each, index) => readings.add(index * 60, 1, parseMetrics(
                Object.entries(each).map(([name, value]) => `${{name}} ${{value}}\\n`).join(""))));
            return attention(status, readings, "waiting for key sets");
        }})"""
    )


@pytest.mark.parametrize(("change", "level", "text"), FAULTS, ids=[text for _, _, text in FAULTS])
def test_what_is_wrong_is_said(functions, change, level, text):
    (problem,) = judged(functions, change)
    assert (problem["level"], problem["text"]) == (level, text)
    # It always says what to do.
    assert problem.get("chapter") or problem.get("remedy")


ERROR = "{since: 100, time: 160, count: 3, error: 'E', request: 'GET /x', request_id: 'R'}"
SERVER_ERROR = ERROR.replace("'GET /x'", "null")
DOWN = "Object.assign(server, {healthy: false, check_error: 'status 503', since: 120, last_error: null})"
OTHER = "status.upstreams[0].servers.push({...server, name: 'b', healthy: true, since: null})"
# Facts beside a problem: since when, why, and the last request that met it.
KNOWN = [
    ("status.draining = true; status.draining_since = 7", {"since": 7}),
    ("Object.assign(status.configuration, {faults: ['f'], failed_at: 8})", {"since": 8}),
    ("status.store = {writable: false, needed: true, error: 'full', failing_since: 9}", {"since": 9}),
    (
        f"Object.assign({ISSUER}, {{keys: 0, key_error: 'status 500', key_failing_since: 10}})",
        {"since": 10, "why": "status 500"},
    ),
    ("order({failures: 1, next_in: 60})", {"since": 11, "why": "refused"}),
    (f"{DOWN}; {OTHER}", {"since": 120, "why": "status 503"}),
    # All are out since the last one is.
    (f"{DOWN}; {OTHER}; Object.assign(status.upstreams[0].servers[1], {{healthy: false, since: 150}})", {"since": 150}),
    (
        f"Object.assign(server, {{serving: false, since: 130, last_error: {SERVER_ERROR}}})",
        {"since": 130, "why": "E", "requestID": "R"},
    ),
    (
        f"server.last_error = {SERVER_ERROR}; later('gatehouse_upstream_server_requests_total{{upstream=\"recorder\",server=\"a\"}}', 9); "
        "later('gatehouse_upstream_server_failures_total{upstream=\"recorder\",server=\"a\"}', 1)",
        {"since": 100, "why": "E", "requestID": "R"},
    ),
    (
        f"status.route_errors = [{{...{ERROR}, route: 'a', time: serverTime(status)}}, {{...{ERROR}, route: 'b', since: 90}}]; "
        "later('gatehouse_requests_total{route=\"a\",status=\"5xx\"}', 3)",
        {"since": 100, "why": "GET /x: E", "requestID": "R"},
    ),
    (
        f"status.route_errors = [{{...{ERROR}, route: 'a'}}]; later('gatehouse_requests_total{{route=\"a\",status=\"5xx\"}}', 4); "
        "later('gatehouse_requests_total{route=\"a\",status=\"2xx\"}', 36); "
        "later('gatehouse_requests_total{route=\"b\",status=\"2xx\"}', 960)",
        {"text": "Route a: 10.0 % of requests got a 5xx response in the last minute: 4 of 40", "since": 100, "requestID": "R"},
    ),
    (
        f"status.refusals = [{{...{ERROR}, reason: 'client-secret-refused'}}]; "
        "later('gatehouse_denials_total{reason=\"client-secret-refused\"}', 1)",
        {"since": 100, "why": "GET /x: E", "requestID": "R"},
    ),
]


@pytest.mark.parametrize(("change", "known"), KNOWN, ids=[change[:60] for change, _ in KNOWN])
def test_a_problem_says_since_when_why_and_for_which_request(functions, change, known):
    (problem,) = judged(functions, change)
    assert {name: problem.get(name) for name in known} == known


def test_what_the_gateway_does_not_date_the_page_does(functions):
    script = """((problem) => {
        [seen, hasLooked] = [new Map(), false];
        const said = (now, problems) => {
            showProblems(problems, now);
            return [...document.querySelectorAll("#problems .since")].map((each) => each.textContent.replace(/since .*?( or|\\()/, "$1").trim());
        };
        return [said(1000, [problem("1 of 5")]), said(1100, [problem("2 of 5"), problem("new")]), said(1200, [problem("new")])];
    })((text) => ({ level: "warn", text }))"""
    assert functions.run(script) == [["or before (0 s)"], ["or before (1 min)", "(0 s)"], ["(1 min)"]]


def test_what_is_sound_is_not_complained_of(functions):
    assert judged(functions, "certify(15 * 86400); status.store.writable = true; status.limits.requests = {limit: 100, in_flight: 79}") == []


@pytest.mark.parametrize(("usual", "last", "told"), [(10, 40, True), (20, 40, False), (0, 29, False), (0, 30, True)])
def test_a_spike_of_refusals_is_told(functions, usual, last, told):
    name = 'gatehouse_denials_total{reason="no-route"}'
    samples = [(60 * minute, 1, {name: usual * minute}) for minute in range(5)]
    samples.append((300, 1, {name: usual * 4 + last}))
    found = measured(functions, *samples, asked="[...spikes({refusals: []}, r)].map(({level, text}) => ({level, text}))")
    text = f"{last} requests were refused in the last minute, usually {usual}; mostly no-route"
    assert found == ([{"level": "warn", "text": text}] if told else [])
