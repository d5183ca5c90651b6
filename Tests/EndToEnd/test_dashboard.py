"""The dashboard, in Chromium: what it shows, of what it warns, and that nothing from outside gets into it."""

import base64
import hashlib
import json
import re
import urllib.parse

import pytest
from harness import raw
from harness.account import Account, bearer
from harness.browser import Browser, Page
from harness.certificates import Authority
from harness.gateway import ADA, Gateway
from harness.process import SILENT_PORT, free_port, wait_until

TOKEN = "an-admin-token-of-some-length"
HOSTILE = "<img src=x onerror=\"window.broken='in'\"><script>window.broken='in'</script>"
CALL = "AWSCognitoIdentityProviderService.InitiateAuth"


@pytest.fixture(scope="module")
def browser(run_directory):
    directory = run_directory / "browser"
    directory.mkdir()
    browser = Browser(directory)
    yield browser
    browser.stop()


@pytest.fixture
def open_page(browser):
    pages: list[Page] = []

    def open_page(gateway: Gateway, **options) -> Page:
        pages.append(browser.open(f"http://127.0.0.1:{gateway.admin_port}/", **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def functions(browser, gateway):
    """The page's own functions, and a status to begin with."""
    page = browser.open(f"http://127.0.0.1:{gateway.admin_port}/")
    wait_until(lambda: page.text("#updated"), "the page to show something")
    # Nothing of what follows is disturbed by the next answer.
    page.run("clearTimeout(timer)")
    yield page
    page.close()


def refreshed(page: Page) -> Page:
    page.run("refresh()")
    return page


def problems(page: Page) -> list[str]:
    return refreshed(page).text("#problems").splitlines()


def row(page: Page, selector: str, name: str) -> list[str] | None:
    return next((cells for cells in page.rows(selector) if cells and cells[0].splitlines()[0] == name), None)


def assert_sound(page: Page, gateway: Gateway) -> None:
    """The page complains of nothing and has asked nobody but its own listener."""
    assert page.complaints() == []
    own = f"http://127.0.0.1:{gateway.admin_port}/"
    asked = {url.split("?")[0] for url in page.requested() if not url.startswith("data:")}
    assert asked <= {own, f"{own}status", f"{own}metrics", f"{own}readyz"} and own in asked


# ---- The document


def test_it_is_one_document_that_may_load_and_run_nothing_else(start_gateway):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    # It holds no data, and so takes no token.
    page = raw.exchange(gateway.admin_port, "GET", "/")
    assert page.status == 200 and page.header("content-type") == "text/html; charset=utf-8"
    assert page.header("cache-control") == "no-store" and page.header("x-content-type-options") == "nosniff"
    assert page.header("referrer-policy") == "no-referrer"
    text = page.body.decode()

    def source(tag: str) -> str:
        (content,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    assert page.header("content-security-policy").split("; ") == [
        "default-src 'none'",
        f"style-src {source('style')}",
        f"script-src {source('script')}",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
    # What the gateway says is put in as text.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    assert raw.exchange(gateway.admin_port, "HEAD", "/").body == b""
    assert raw.exchange(gateway.admin_port, "POST", "/", {}, b"").status == 405


# ---- Figures


def test_figures_appear_and_follow_the_traffic(start_gateway, open_page, issuer, pool, ledger):
    gateway = start_gateway(pool=pool)
    page = open_page(gateway)
    wait_until(lambda: page.text("#state") == "Ready", "the page to say that the gateway is ready")
    assert re.fullmatch(r"Gatehouse \d+\.\d+\.\d+", page.text("h1")) and page.text("#problems") == "Nothing needs attention."
    token = bearer(issuer.access())
    for _ in range(20):
        assert raw.exchange(gateway.port, "GET", "/recorded/required/x", token).status == 200
    # By itself, within a few seconds, and without being loaded again.
    wait_until(lambda: row(page, "#routes", "required"), "the requests to appear")
    assert row(page, "#routes", "required")[2:] == ["0", "0", "20"]
    assert float(page.text("#rate")) > 0 and page.text("#errors") == "0 %"
    assert re.search(r"ms|s$", row(page, "#latency", "gateway’s part")[1])
    assert page.run("document.querySelectorAll('#chart-traffic path.area').length") == 1
    raw.exchange(gateway.port, "GET", "/recorded/required/x")
    raw.exchange(gateway.port, "GET", "/nowhere")
    account = Account(gateway.port, ledger)
    assert account.login(*ADA).status == 200
    assert account.login(ADA[0], "A-Wrong-Password-For-The-Board").status == 401
    refreshed(page)
    assert row(page, "#routes", "required")[2:] == ["1", "0", "21"]
    assert row(page, "#denials", "token-missing")[1:] == ["1", "1"] and row(page, "#denials", "no-route")[1:] == ["1", "1"]
    assert row(page, "#calls", "login") == ["login", "1", "0", "1", "2"]
    assert row(page, "#failures", "bad-credentials")[1:] == ["1", "1"]
    assert any(cells[1].startswith("token-missing\nGET /recorded/required/x") for cells in page.rows("#recent-denials"))
    wait_until(lambda: any("signed_in" in cells[1] for cells in refreshed(page).rows("#recent-events")), "the event")
    assert float(page.text("#sign-ins")) > 0 and float(page.text("#sign-in-failures")) > 0
    own = row(page, "#issuers", "own")
    assert own[1].startswith("2 keys") and own[2].endswith("s ago") and own[3] == "0"
    assert_sound(page, gateway)


def test_released_apps_are_there_with_their_versions(start_gateway, open_page):
    gateway = start_gateway({"direct_cognito": "block"})
    for version, calls in (("3.0.2", 2), ("3.1.0", 1)):
        for _ in range(calls):
            raw.exchange(gateway.port, "POST", "/", {"X-Amz-Target": CALL, "User-Agent": f"Shop/{version} (iPhone)"}, b"{}")
    page = open_page(gateway)
    wait_until(lambda: row(page, "#apps", "Shop/3.1.0"), "the app")
    assert row(page, "#apps", "Shop/3.0.2")[2:] == ["2", "2"] and row(page, "#apps", "Shop/3.1.0")[2:] == ["1", "1"]
    assert "Calls are refused." in page.text("#app-note") and "InitiateAuth 3" in page.text("#app-note")
    assert_sound(page, gateway)


SERIES = 'gatehouse_requests_total{route="a",status="2xx"}'
BUCKETS = {"0.001": 50, "0.01": 90, "+Inf": 100}


def measured(page: Page, *samples: tuple[float, int, dict[str, float]], asked: str):
    """What readings of these (seconds, start, values by sample) say."""
    texts = [[time, start, "".join(f"{name} {value}\n" for name, value in values.items())] for time, start, values in samples]
    add = f"for (const [time, start, text] of {json.dumps(texts)}) r.add(time, start, parseMetrics(text));"
    return page.run(f"(() => {{ const r = new Readings(); {add} return {asked}; }})()")


def test_rates_are_differences_and_begin_anew_with_the_process(functions):
    rate = "r.rate('gatehouse_requests_total', 60)"
    assert measured(functions, (0, 1, {SERIES: 100}), asked=rate) is None
    assert measured(functions, (0, 1, {SERIES: 100}), (10, 1, {SERIES: 150}), asked=rate) == 5
    # A route that was not there before, one that has gone, and a reading that is too old.
    other = SERIES.replace('"a"', '"b"')
    assert measured(functions, (0, 1, {}), (10, 1, {other: 20}), asked=rate) == 2
    assert measured(functions, (0, 1, {SERIES: 100, other: 5}), (10, 1, {other: 15}), asked=rate) == 1
    far = [(0, 1, {SERIES: 0}), (100, 1, {SERIES: 1000}), (110, 1, {SERIES: 1010})]
    assert measured(functions, *far, asked=rate) == 1
    # Another process counts from nought, and so does a counter that has become smaller.
    again = [(0, 1, {SERIES: 100}), (10, 2, {SERIES: 3})]
    assert measured(functions, *again, asked=rate) is None
    assert measured(functions, *again, (20, 2, {SERIES: 13}), asked=rate) == 1
    assert measured(functions, (0, 1, {SERIES: 100}), (10, 1, {SERIES: 20}), asked=rate) == 2


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
    # What the buckets held before is none of it.
    before = {f'd_bucket{{le="{limit}"}}': 1000 for limit in counts}
    after = {f'd_bucket{{le="{limit}"}}': 1000 + number for limit, number in counts.items()}
    found = measured(functions, (0, 1, before), (10, 1, after), asked=f"r.quantile('d', {share}, 60)")
    assert found == value if value is None else (found["value"], found["kind"]) == (pytest.approx(value), kind)


# ---- What needs attention


def test_a_dead_backend_is_down_and_a_failing_one_named(start_gateway, open_page, own_recorder):
    dead = f"http://127.0.0.1:{SILENT_PORT}"
    servers = [{"url": own_recorder.url}, {"url": dead}]
    health = {"path": "/recorded/public/health", "interval": "100ms", "unhealthy_after": 1}
    gateway = start_gateway({"upstreams": {"recorder": {"url": ..., "servers": servers, "health": health}}})
    page = open_page(gateway)
    wait_until(lambda: f"Upstream recorder: {dead} is down (checks fail)" in problems(page), "the dead server")
    states = {cells[0]: cells[1].splitlines()[0] for cells in page.rows("#upstreams")}
    assert states[f"recorder\n{dead}"] == "down" and states[f"recorder\n{own_recorder.url}"] == "serving"
    for _ in range(4):
        assert raw.exchange(gateway.port, "GET", "/down/x").status == 502
    said = problems(page)
    assert any(re.fullmatch(r"Upstream down: \S+ failed 4 of 4 requests in the last minute", line) for line in said)
    assert any(re.fullmatch(r"\S+ % of requests were answered with 5xx in the last minute: 4 of \d+", line) for line in said)
    # When none is left the upstream itself is down, and is told first.
    own_recorder.on("/recorded/public/health", lambda exchange: exchange.respond(500))
    wait_until(lambda: problems(page)[0].startswith("Upstream recorder has no server that takes requests"), "the upstream")
    assert_sound(page, gateway)


def test_a_refused_configuration_says_why_and_draining_is_told(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = open_page(gateway)
    page.type_into("#token", TOKEN)
    wait_until(lambda: page.text("#state") == "Ready", "the page")
    raw.exchange(gateway.admin_port, "POST", "/drain", bearer(TOKEN))
    gateway.write_config({"threads": -1})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 422
    said = problems(page)
    assert said[0].startswith("The last configuration was not taken over") and "threads: must be a whole number" in said[0]
    assert said[1].startswith("Draining: /readyz says 503") and page.text("#state") == "Draining"
    gateway.write_config({"threads": 2})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 200
    raw.exchange(gateway.admin_port, "DELETE", "/drain", bearer(TOKEN))
    assert problems(page) == ["Nothing needs attention."]


DAY = 86_400
ISSUER = "status.issuers[0]"
# What is changed in a sound status, and what is then said.
FAULTS = [
    ("status.ready = false", "bad", "Not ready: waiting for key sets. Load balancers send nothing."),
    (f"{ISSUER}.keys = 0; {ISSUER}.key_failures = 1", "bad", "Tokens of own cannot be verified: there is no key set, after 1 failed fetch"),
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
    (f"certify({10 * DAY})", "warn", "The certificate of a.example on 0.0.0.0:443 expires in 10 d 0 h"),
    (f"certify({2 * DAY})", "bad", "The certificate of a.example on 0.0.0.0:443 expires in 2 d 0 h"),
    ("certify(-120)", "bad", "The certificate of a.example on 0.0.0.0:443 expired 2 min ago"),
    ("status.limits.requests = {limit: 100, in_flight: 80}", "warn", "Requests in flight: 80 of at most 100"),
    ("status.limits.revocations = {limit: 100, held: 95}", "bad", "Revocations held: 95 of at most 100"),
    ("status.outbox = {lost: 1, waiting: 0}", "warn", "1 message to backends were given up since the start"),
    (
        "status.upstreams[0].servers[0].drained = true; status.upstreams[0].servers.push({...server, name: 'b', drained: false})",
        "note",
        "Upstream recorder: a is drained (by an operator)",
    ),
    ("status.upstreams[0].servers[0].serving = false", "bad", "Upstream recorder has no server that takes requests: a is ejected (after failures)"),
    ("later('gatehouse_log_lines_lost_total{log=\"access\"}', 3)", "bad", "3 lines of the access log could not be written, 3 of them in the last 1 min"),
    ("first('gatehouse_log_lines_lost_total{log=\"audit\"}', 1)", "warn", "1 line of the audit log could not be written, none of them lately"),
    (
        "later('gatehouse_denials_total{reason=\"client-secret-refused\"}', 1)",
        "bad",
        "Cognito does not take the client secret: 1 request refused as client-secret-refused in the last 1 min",
    ),
    (
        "later('gatehouse_account_calls_total{operation=\"login\",result=\"refused\",reason=\"bad-credentials\"}', 10)",
        "warn",
        "More sign-ins fail than succeed: 10 against 0 in the last 1 min, mostly bad-credentials",
    ),
]


def judged(page: Page, change: str) -> list[dict]:
    """What a status needs attention for after a change, or readings a minute apart."""
    return page.run(
        f"""ask("status").then((text) => {{
            const status = JSON.parse(text), values = [{{}}, {{}}], readings = new Readings();
            const later = (name, value) => {{ values[1][name] = value; }};
            const first = (name, value) => {{ values[0][name] = values[1][name] = value; }};
            const certify = (left) => {{
                status.listeners[0].address = "0.0.0.0:443";
                status.listeners[0].certificates = [{{names: ["a.example"], expires_at: serverTime(status) + left}}];
            }};
            const server = {{...status.upstreams[0].servers[0], name: "a", healthy: null, serving: true, drained: false}};
            status.upstreams = [{{name: "recorder", servers: [server]}}];
            Object.assign(status, {{ready: true, draining: false}});
            Object.assign(status.outbox, {{lost: 0, waiting: 0}});
            {change};
            values.forEach((each, index) => readings.add(index * 60, 1, parseMetrics(
                Object.entries(each).map(([name, value]) => `${{name}} ${{value}}\\n`).join(""))));
            return attention(status, readings, "waiting for key sets");
        }})"""
    )


@pytest.mark.parametrize(("change", "level", "text"), FAULTS, ids=[text for _, _, text in FAULTS])
def test_what_is_wrong_is_said(functions, change, level, text):
    assert judged(functions, change) == [{"level": level, "text": text}]


def test_what_is_sound_is_not_complained_of(functions):
    assert judged(functions, "certify(100 * 86400); status.limits.requests = {limit: 100, in_flight: 79}") == []


@pytest.mark.parametrize(("usual", "last", "told"), [(10, 40, True), (20, 40, False), (0, 29, False), (0, 30, True)])
def test_a_spike_of_refusals_is_told(functions, usual, last, told):
    name = 'gatehouse_denials_total{reason="no-route"}'
    samples = [(60 * minute, 1, {name: usual * minute}) for minute in range(5)]
    samples.append((300, 1, {name: usual * 4 + last}))
    found = measured(functions, *samples, asked="[...spikes(r)]")
    text = f"{last} requests were refused in the last minute, usually {usual}; mostly no-route"
    assert found == ([{"level": "warn", "text": text}] if told else [])


# ---- The token


def test_a_token_is_asked_for_and_kept_in_the_tab_only(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = open_page(gateway)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    assert page.run("document.activeElement.id") == "token" and page.text("#board") == ""
    for wrong in ("wrong-token-of-some-length", "pässwört"):
        page.type_into("#token", wrong)
        wait_until(lambda: page.text("#refused") == "The gateway does not take this token.", "the refusal")
        assert page.text("#board") == "" and page.run("document.querySelector('#token').value") == ""
        page.run("document.querySelector('#refused').textContent = ''")
    page.type_into("#token", TOKEN)
    wait_until(lambda: page.text("#state") == "Ready", "the page")
    assert page.text("#entrance") == ""
    stored = "[JSON.stringify(sessionStorage), JSON.stringify(localStorage), document.cookie, location.href, document.body.innerText]"
    session, *elsewhere = page.run(stored)
    assert TOKEN in session and not any(TOKEN in each for each in elsewhere)
    assert not any(TOKEN in url for url in page.requested())
    # Another tab does not have it, the same one does after it was loaded again, until it is told to forget.
    other = open_page(gateway)
    wait_until(lambda: other.text("#entrance label") == "Admin token", "the form in another tab")
    page.go(f"http://127.0.0.1:{gateway.admin_port}/")
    wait_until(lambda: page.text("#state") == "Ready", "the page with the token it has")
    page.press("#forget")
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form again")
    assert TOKEN not in page.run("JSON.stringify(sessionStorage)") and page.text("#refused") == ""
    # Of all that went wrong a browser tells that it was refused, and nothing else.
    assert all("status of 401" in each for each in page.complaints())


def test_a_token_that_counts_no_more_is_asked_for_again(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = open_page(gateway)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    page.type_into("#token", TOKEN)
    wait_until(lambda: page.text("#state") == "Ready", "the page")
    gateway.write_config({"admin": {"token": "another-token-of-some-length"}})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 200
    refreshed(page)
    assert page.text("#board") == "" and page.text("#refused") == "The gateway does not take this token."


# ---- What comes from outside


def made_hostile(value):
    """Every text in it begins with markup."""
    if isinstance(value, dict):
        return {name: made_hostile(each) for name, each in value.items()}
    if isinstance(value, list):
        return [made_hostile(each) for each in value]
    return HOSTILE + value if isinstance(value, str) else value


def assert_nothing_got_in(page: Page) -> None:
    assert page.run("window.broken") is None
    assert page.run("document.querySelectorAll('img, iframe, script, a, object, base, meta[http-equiv]').length") == 1


def test_what_the_gateway_says_is_text_whatever_is_in_it(start_gateway, open_page, pool):
    gateway = start_gateway({"direct_cognito": "block"}, pool=pool)
    raw.exchange(gateway.port, "GET", "/nowhere")
    raw.exchange(gateway.port, "POST", "/", {"X-Amz-Target": CALL, "User-Agent": "Shop/1"}, b"{}")
    wait_until(lambda: json.loads(gateway.admin("/status")[1])["recent_audit_events"], "the audit event")
    page = open_page(gateway)
    wait_until(lambda: page.text("#state") == "Ready", "the page")
    status = json.loads(gateway.admin("/status")[1])
    status["configuration"]["faults"] = ["fault"]
    status["listeners"][0]["certificates"] = [{"names": ["name"], "expires_at": 0}]
    status["upstreams"][0]["servers"][0]["healthy"] = False
    status["direct_cognito"]["operations"] = {HOSTILE: 1}
    status = json.dumps(made_hostile(status))
    label = HOSTILE.replace('"', '\\"')
    metrics = re.sub(r'(route|reason|operation|application)="', rf'\g<1>="{label}', gateway.admin("/metrics")[1].replace("} 0", "} 1"))
    page.answer_with(lambda url: {"status": status, "metrics": metrics}.get(url.rsplit("/", 1)[1]))
    refreshed(page)
    refreshed(page)
    assert_nothing_got_in(page)
    seen = page.run("document.body.innerText")
    for place in ("#version", "#problems", "#upstreams", "#issuers", "#routes", "#denials", "#apps", "#app-note", "#recent-denials", "#recent-events"):
        assert HOSTILE in page.text(place), place
    assert seen.count(HOSTILE) > 30
    assert page.complaints() == []


def test_what_attackers_send_is_text(start_gateway, open_page, pool, ledger):
    gateway = start_gateway(pool=pool)
    with raw.RawConnection(gateway.port) as connection:
        connection.send(f"GET /nowhere/{urllib.parse.quote(HOSTILE)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        connection.response()
    target = HOSTILE.replace(" ", "/")
    raw.exchange(gateway.port, "GET", f"/nowhere/{target}")
    device = {"device_id": "one", "platform": HOSTILE[:60], "app_version": HOSTILE[:60]}
    Account(gateway.port, ledger, headers={"User-Agent": target}).login(ADA[0], "A-Wrong-Password-Of-Markup", device_info=device)
    page = open_page(gateway)
    wait_until(lambda: "sign_in_failed" in refreshed(page).text("#recent-events"), "the event")
    assert target in page.text("#recent-denials")
    assert_nothing_got_in(page)
    assert_sound(page, gateway)


# ---- Without an answer


def test_without_an_answer_it_says_how_old_the_figures_are(start_gateway, open_page):
    gateway = start_gateway()
    page = open_page(gateway)
    for _ in range(5):
        raw.exchange(gateway.port, "GET", "/recorded/public/x")
    wait_until(lambda: row(refreshed(page), "#routes", "public"), "the requests")
    gateway.stop()
    (said, *_) = problems(page)
    assert said.startswith("The gateway has not answered this page since") and said.endswith(": it cannot be reached.")
    assert page.text("#state") == "No answer" and re.fullmatch(r"figures \d+ s old", page.text("#updated"))
    assert row(page, "#routes", "public")[-1] == "5"
    # Another process: counts begin anew, and nothing is negative.
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        wait_until(lambda: problems(page) == ["Nothing needs attention."], "the answer")
        raw.exchange(again.port, "GET", "/recorded/public/x")
        wait_until(lambda: (row(refreshed(page), "#routes", "public") or [""])[-1] == "1", "the new process's request")
        assert not re.search(r"[-−]\d|NaN|undefined|null|Infinity", page.text(".tiles") + page.text("#routes"))
    finally:
        again.stop()


def test_while_nobody_looks_nothing_is_asked(start_gateway, open_page):
    gateway = start_gateway()
    page = open_page(gateway)
    wait_until(lambda: page.text("#state") == "Ready", "the page")

    def see(state: str) -> None:
        page.run(f"Object.defineProperty(document, 'visibilityState', {{value: '{state}', configurable: true}})")
        page.run("document.dispatchEvent(new Event('visibilitychange'))")

    see("hidden")
    refreshed(page)
    assert page.run("timer") is None
    before = len(page.requested())
    see("visible")
    wait_until(lambda: len(page.requested()) > before, "a request as soon as it is seen")
    wait_until(lambda: page.run("timer") is not None, "the next one")


# ---- How it looks


CONTRASTS = """(() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const [r, g, b] = parts(colour).map((part) => part / 255).map((x) => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (parts(colour)[3] !== 0) return colour;
        }
    };
    const written = [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() && !node.closest("script")
        && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
    return written.map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
        return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), node.textContent.slice(0, 40)];
    });
})()"""


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_it_fits_and_can_be_read(start_gateway, open_page, pool, ledger, run_directory, width):
    authority = Authority(run_directory / f"authority-{width}")
    tls = {"address": f"127.0.0.1:{free_port()}", "tls": {"certificates": [authority.issue("api.example.com").settings()]}}
    long = "upstream" * 8
    gateway = start_gateway(
        {
            "direct_cognito": "block",
            "listeners": [{"address": f"127.0.0.1:{free_port()}"}, tls],
            "routes": [{"name": long, "path": "/long", "access": "public", "upstream": long}],
            "upstreams": {long: {"url": f"http://127.0.0.1:{SILENT_PORT}"}},
        },
        pool=pool,
    )
    for path in ("/long", f"/{long}{long}", "/down/x"):
        raw.exchange(gateway.port, "GET", path)
    raw.exchange(gateway.port, "POST", "/", {"X-Amz-Target": CALL, "User-Agent": "A" * 64}, b"{}")
    Account(gateway.port, ledger).login(ADA[0], "A-Wrong-Password-For-The-Look")
    page = open_page(gateway, width=width, height=844)
    wait_until(lambda: row(page, "#routes", long), "the page")
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        refreshed(page)
        page.screenshot(run_directory / f"dashboard-{width}-{scheme}.png", whole=True)
        assert page.run("document.documentElement.scrollWidth") <= width
        over = "[...document.querySelectorAll('section, table, th, td, p, li')].filter((node) => node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== 'inline' && !node.matches('.unseen')).map((node) => node.outerHTML.slice(0, 200))"
        assert page.run(over) == []
        assert [found for found in page.run(CONTRASTS) if found[0] < 4.5] == []
    assert_sound(page, gateway)


def test_it_can_be_used_without_eyes_or_a_pointer(functions):
    tables = "[...document.querySelectorAll('table')].map((table) => [table.querySelectorAll('tbody tr > th[scope=row], td.empty').length, table.tBodies[0].rows.length])"
    assert all(headed == rows > 0 for headed, rows in functions.run(tables))
    named = "[...document.querySelectorAll('section, svg[role=img], input')].filter((node) => !(node.ariaLabel || node.labels?.length || document.getElementById(node.getAttribute('aria-labelledby'))?.textContent)).length"
    assert functions.run(named) == 0
    assert functions.run("document.documentElement.lang") == "en"
    # A change of a number alone is not read out.
    say = "(text) => { announce([{level: 'bad', text}]); return document.querySelector('#announced').textContent; }"
    said = functions.run(f"['3 of 4 failed', '5 of 6 failed', 'gone'].map({say})")
    assert said == ["Urgent: 3 of 4 failed", "Urgent: 3 of 4 failed", "Urgent: gone"]
