"""The dashboard, in Chromium: what it shows, of what it warns, and that nothing from outside gets into it."""

import base64
import hashlib
import json
import re
import time
import urllib.parse

from harness import raw
from harness.account import Account, bearer
from harness.browser import Page
from harness.dashboard import Dashboard
from harness.gateway import ADA, Gateway
from harness.process import SILENT_PORT, wait_until

TOKEN = "an-admin-token-of-some-length"
HOSTILE = "<img src=x onerror=\"window.broken='in'\"><script>window.broken='in'</script>"
CALL = "AWSCognitoIdentityProviderService.InitiateAuth"


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
    # The gateway's data is put in as text.
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)
    assert raw.exchange(gateway.admin_port, "HEAD", "/").body == b""
    assert raw.exchange(gateway.admin_port, "POST", "/", {}, b"").status == 405


def test_it_reads_what_the_gateway_counts(gateway):
    script = raw.exchange(gateway.admin_port, "GET", "/").body.decode()
    durations = {f"gatehouse_{part}_duration_seconds" for part in ("request", "upstream", "gateway")}
    names = {name.removesuffix("_count") for name in re.findall(r"\bgatehouse_[a-z0-9_]+(?=\")", script)} | durations
    there = set(re.findall(r"^# TYPE (\S+)", gateway.admin("/metrics")[1], re.MULTILINE))
    assert len(names) > 12 and names <= there, names - there


# ---- Figures


def test_figures_appear_and_follow_the_traffic(start_gateway, open_page, issuer, pool, ledger):
    gateway = start_gateway(pool=pool)
    page = open_page(gateway)
    page.wait_for_state("Ready")
    assert re.fullmatch(r"Gatehouse \d+\.\d+\.\d+", page.text("h1")) and page.text("#problems") == "Nothing needs attention."
    token = bearer(issuer.access())
    for _ in range(20):
        assert raw.exchange(gateway.port, "GET", "/recorded/required/x", token).status == 200
    # By itself, within a few seconds, and without being loaded again.
    wait_until(lambda: "route required" in page.targets(), "the requests to appear")
    row = page.targets()["route required"]
    assert (row["4xx"], row["5xx"], row["state"], row["since"]) == ("0 %", "0 %", "serving", "start")
    assert re.fullmatch(r"[<\d.]+ ms", row["p50"]) and re.fullmatch(r"[<\d.]+ ms", row["p99"])
    page.unfold()
    wait_until(lambda: page.refresh().text("#rate") != "–", "15 seconds for a rate", seconds=30)
    assert float(page.text("#rate")) > 0 and page.text("#errors") == "0 %"
    # All are 20 requests that went to the upstream, and the page says so; later there are others.
    assert re.search(r"ms|s$", page.row("#latency", "gateway’s part ¹")[1]) and page.text("#latency-note") == "¹ of the same requests"
    assert page.run("document.querySelectorAll('#chart-traffic path.area').length") == 1
    raw.exchange(gateway.port, "GET", "/recorded/required/x")
    raw.exchange(gateway.port, "GET", "/nowhere")
    account = Account(gateway.port, ledger)
    assert account.login(*ADA).status == 200
    assert account.login(ADA[0], "A-Wrong-Password-For-The-Board").status == 401
    page.refresh()
    assert re.fullmatch(r"¹ of the \d+ that waited for an upstream", page.text("#latency-note"))
    # The share is of 21 requests.
    assert page.targets()["route required"]["4xx"] == "4.8 %"
    assert page.run("document.querySelector('#targets tr[data-key=\"route required\"]').cells[2].title") == "1 of 21 responses"
    assert page.row("#denials", "token-missing")[1:] == ["1", "1"] and page.row("#denials", "no-route")[1:] == ["1", "1"]
    assert page.row("#calls", "login") == ["login", "1", "0", "1", "2"]
    assert page.row("#failures", "bad-credentials")[1:] == ["1", "1"]
    refused = [cells for cells in page.rows("#recent-denials") if cells[0] == "token-missing"]
    assert refused[0][2:5] == ["401", "GET /recorded/required/x", "127.0.0.1"] and re.fullmatch(r"\w{26}", refused[0][5])
    wait_until(lambda: any("signed_in" in cells[1] for cells in page.refresh().rows("#recent-events")), "the event")
    for figure in ("#sign-ins", "#sign-in-failures"):
        wait_until(lambda figure=figure: float(page.refresh().text(figure)) > 0, f"15 seconds for {figure}", seconds=30)
    own = page.row("#issuers", "own")
    assert own[1].startswith("2 keys") and own[2].endswith("s ago") and own[3] == "0"
    page.assert_sound(gateway)


def test_a_page_that_is_opened_later_shows_how_it_began(start_gateway, open_page, issuer):
    gateway = start_gateway()
    token = bearer(issuer.access())
    for path in 10 * ["/recorded/required/x"] + 4 * ["/down/x"]:
        raw.exchange(gateway.port, "GET", path, token)

    def history() -> dict:
        return json.loads(gateway.admin("/history")[1])

    wait_until(lambda: any(history()["series"]["server_errors_per_second"]), "a point of the history", seconds=40)
    told = history()
    assert told["interval_seconds"] == 15 and {len(numbers) for numbers in told["series"].values()} == {len(told["times"])}
    assert abs(told["now"] - time.time()) < 5 and told["now"] - told["times"][-1] < 20
    most = {name: max(number or 0 for number in numbers) for name, numbers in told["series"].items()}
    assert 0.2 < most["requests_per_second"] < 2 and 0.1 < most["server_errors_per_second"] < 0.4
    assert most["gateway_p99_seconds"] > 0 and most["resident_bytes"] > 1 << 20 and most["open_descriptors"] > 8
    page = open_page(gateway)
    # At once, though this page has seen nothing of it: what the lines show, beside each moment that is pointed at.
    wait_until(lambda: page.run("document.querySelectorAll('#chart-errors path.alarm').length"), "the chart")
    failed = page.run("course.points.map((point) => point.failed)")
    assert max(each or 0 for each in failed) == most["server_errors_per_second"]
    assert page.run("document.querySelectorAll('#chart-errors .axis span').length") >= 1
    page.run("""(() => {
        const plot = document.querySelector('#chart-errors .plot');
        const box = plot.querySelector('svg').getBoundingClientRect();
        plot.dispatchEvent(new PointerEvent('pointermove', {clientX: box.right, clientY: box.top + 5, bubbles: true}));
    })()""")
    shown = page.text("#chart-errors .reading").splitlines()
    assert re.fullmatch(r"\d\d:\d\d( [AP]M)?", shown[0]) and [line.split(":")[0] for line in shown[1:]] == [
        "4xx per second", "5xx per second"]
    page.run("document.querySelector('#chart-errors .plot').dispatchEvent(new PointerEvent('pointerleave'))")
    assert page.text("#chart-errors .reading") == ""
    page.assert_sound(gateway)


def test_no_rate_is_of_less_than_15_seconds(functions):
    script = f"""(() => {{
        const readings = new Readings();
        const rates = [];
        for (const [time, value] of [[0, 0], [3, 30], [14, 140], [15, 150], [18, 180]]) {{
            readings.add(time, 1, new Map([["gatehouse_requests_total", [{{key: "a", labels: {{}}, value}}]]]));
            rates.push(readings.rate("gatehouse_requests_total", 60));
        }}
        return rates;
    }})()"""
    assert functions.run(script) == [None, None, None, 10, 10]


def test_a_chart_has_a_rate_however_readings_fall(functions):
    # Every 3.3 s, as with a response that takes its time: the last 15 s are never exactly between two of them.
    script = """(() => {
        const readings = new Readings();
        for (let index = 0; index < 40; index++) {
            readings.add(3.3 * index, 1, new Map([["gatehouse_requests_total", [{key: "a", labels: {}, value: 33 * index}]]]));
        }
        return readings.rate("gatehouse_requests_total", 15);
    })()"""
    assert abs(functions.run(script) - 10) < 0.001


def test_released_apps_are_there_with_their_versions(start_gateway, open_page):
    gateway = start_gateway({"direct_cognito": "block"})
    for version, calls in (("3.0.2", 2), ("3.1.0", 1)):
        for _ in range(calls):
            raw.exchange(gateway.port, "POST", "/", {"X-Amz-Target": CALL, "User-Agent": f"Shop/{version} (iPhone)"}, b"{}")
    page = open_page(gateway).unfold()
    wait_until(lambda: page.row("#apps", "Shop/3.1.0"), "the app")
    assert page.row("#apps", "Shop/3.0.2")[2:] == ["2", "2"] and page.row("#apps", "Shop/3.1.0")[2:] == ["1", "1"]
    assert "Calls are refused." in page.text("#app-note") and "InitiateAuth 3" in page.text("#app-note")
    page.assert_sound(gateway)


# ---- What needs attention


def test_a_dead_backend_is_down_and_a_failing_one_named(start_gateway, open_page, own_recorder):
    dead = f"http://127.0.0.1:{SILENT_PORT}"
    servers = [{"url": own_recorder.url}, {"url": dead}]
    health = {"path": "/recorded/public/health", "interval": "100ms", "timeout": "20s", "unhealthy_after": 1}
    gateway = start_gateway({"upstreams": {"recorder": {"url": ..., "servers": servers, "health": health}}})
    page = open_page(gateway)
    wait_until(lambda: f"Upstream recorder: {dead} is down (checks fail)" in page.problems(), "the dead server")
    rows = page.targets()
    # The faulty one first. Its state has its reason and its time.
    assert list(rows)[0] == f"server recorder {dead}" and rows[f"server recorder {dead}"]["state"].startswith("downCouldn't connect")
    assert re.fullmatch(r"\d+ s", rows[f"server recorder {dead}"]["since"])
    assert rows[f"server recorder {own_recorder.url}"]["state"] == "serving"
    about = page.about(f"{dead} is down")
    assert re.fullmatch(r"since \d\d:\d\d( [AP]M)? \(\d+ s\)", about["since"]) and "Couldn't connect" in about["why"]
    assert about["chapter"] == "Runbook: The backend is down" and "request" not in about
    for _ in range(4):
        # The errors of one second are one, and the first of them is told.
        wait_until(lambda second=int(time.time()): int(time.time()) > second, "another second")
        failed = raw.exchange(gateway.port, "GET", "/down/x")
        assert failed.status == 502
    said = page.problems()
    assert any(re.fullmatch(r"Upstream down: \S+ failed 4 of 4 requests in the last (minute|\d+ s)", line) for line in said)
    assert any(re.fullmatch(r"\S+ % of requests got a 5xx response in the last (minute|\d+ s): 4 of \d+", line) for line in said)
    about = page.about("Upstream down: ")
    assert "Couldn't connect" in about["why"] and about["request"] == f"request id {failed.header('x-request-id')}"
    assert page.about("of requests got a 5xx response")["why"].startswith("last error: GET /down/x: Couldn't connect")
    failing = page.targets()["route down"]
    assert (failing["5xx"], failing["4xx"]) == ("100 %", "0 %") and failing["state"].startswith("failingCouldn't connect")
    # When none is left the upstream itself is down, and is told first.
    own_recorder.on("/recorded/public/health", lambda exchange: exchange.respond(500))
    wait_until(lambda: page.problems()[0].startswith("Upstream recorder has no server that takes requests"), "the upstream")
    # No other state than readiness: it depends on the other upstreams too.
    assert page.text("#state") == "Ready, with problems"
    page.assert_sound(gateway)


def test_a_refused_configuration_says_why_and_draining_is_told(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = opened_with_token(open_page, gateway)
    raw.exchange(gateway.admin_port, "POST", "/drain", bearer(TOKEN))
    gateway.write_config({"threads": -1})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 422
    said = page.problems()
    assert said[0].startswith("The last configuration was not applied") and "threads: must be a whole number" in said[0]
    assert said[1].startswith("Draining: /readyz says 503") and page.text("#state") == "Draining"
    gateway.write_config({"threads": 2})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 200
    raw.exchange(gateway.admin_port, "DELETE", "/drain", bearer(TOKEN))
    assert page.problems() == ["Nothing needs attention."]


# ---- Changes


def opened_with_token(open_page, gateway: Gateway, token: str = TOKEN, **size: int) -> Dashboard:
    page = open_page(gateway, **size)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    page.type_into("#token", token)
    page.wait_for_state("Ready")
    return page


def changes_asked(page: Page) -> list[tuple[str, str]]:
    """The changes that the page has asked for."""
    page.run("0")
    requests = [event["params"]["request"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    return [(each["method"], urllib.parse.urlsplit(each["url"]).path) for each in requests if each["method"] != "GET"]


def test_a_server_is_drained_after_a_question(start_gateway, open_page, own_recorder):
    servers = [{"url": own_recorder.url}, {"url": f"http://127.0.0.1:{SILENT_PORT}"}]
    gateway = start_gateway({"admin": {"token": TOKEN}, "upstreams": {"recorder": {"url": ..., "servers": servers}}})
    page = opened_with_token(open_page, gateway)
    key = f"server recorder {own_recorder.url}"
    button = f"#targets tr[data-key='{key}'] button"
    wait_until(lambda: page.text(button) == "Drain", "the server")
    # With the keyboard alone; what is chosen first is to leave all as it is.
    page.run(f'document.querySelector("{button}").focus()')
    page.key("Enter")
    assert page.text("#question-title") == f"Drain {own_recorder.url} of recorder?"
    assert "1 other server of recorder takes its requests." in page.text("#question-text")
    assert page.run("document.activeElement.id") == "question-no"
    page.key("Enter")
    assert page.text("#question-title") == "" and changes_asked(page) == []
    assert page.run("document.activeElement.getAttribute('aria-label')") == f"Drain {own_recorder.url} of recorder"
    page.key("Enter")
    page.key("Tab", shift=True)
    page.key("Enter")
    wait_until(lambda: page.text("#result-text") == f"{own_recorder.url} of recorder is drained.", "the result")
    path = f"/upstreams/recorder/{urllib.parse.quote(own_recorder.url, safe='')}/drain"
    assert changes_asked(page) == [("POST", path)]
    assert page.refresh().targets()[key]["state"] == "drained" and re.fullmatch(r"\d+ s", page.targets()[key]["since"])
    assert f"Upstream recorder: {own_recorder.url} is drained (by an operator)" in page.problems()
    # The last one is not drained without being told what that means.
    page.press(f"#targets tr[data-key='server recorder http://127.0.0.1:{SILENT_PORT}'] button")
    assert "No other server of recorder takes requests: all requests to it will get 503." in page.text("#question-text")
    page.key("Escape")
    # Back from the problem itself.
    page.press("#problems .remedy")
    page.press("#question-yes")
    wait_until(lambda: page.text("#result-text") == f"{own_recorder.url} of recorder gets requests again.", "the result")
    assert changes_asked(page)[1:] == [("DELETE", path)] and page.refresh().targets()[key]["state"] == "serving"
    page.press("#result-close")
    assert page.text("#result-text") == ""
    for place in ("location.href", "document.body.innerText", "document.documentElement.outerHTML"):
        assert TOKEN not in page.run(place)
    assert page.complaints() == [each for each in page.complaints() if "status of 401" in each]


def test_rows_that_move_keep_their_buttons(functions):
    script = """ask("status").then((text) => {
        const status = JSON.parse(text), readings = new Readings();
        const server = { ...status.upstreams[0].servers[0], healthy: true, serving: true, drained: false };
        const show = (down) => {
            status.upstreams = [{ name: "u", servers: ["a", "b", "c"].map((name) => ({ ...server, name, healthy: name !== down })) }];
            showTargets(status, readings);
            return [...document.querySelectorAll("#targets th")].map((cell) => cell.lastChild.textContent).join("");
        };
        const orders = [show("c")];
        document.querySelector("#targets tr[data-key='server u a'] button").focus();
        orders.push(show("a"), document.activeElement.ariaLabel);
        element("targets").dispatchEvent(new PointerEvent("pointermove"));
        orders.push(show("b"));
        pointedAt -= STEADY_SECONDS;
        orders.push(show("b"));
        return orders;
    })"""
    # The faulty row comes first, but not under somebody's pointer; the focus goes with its row.
    assert functions.run(script) == ["cab", "abc", "Drain a of u", "abc", "bac"]


def test_a_reload_shows_what_it_has_changed_or_why_not(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = opened_with_token(open_page, gateway)

    def reload() -> str:
        page.run("document.querySelector('#result').hidden = true")
        page.press("#reload")
        page.press("#question-yes")
        wait_until(lambda: page.text("#result-text") not in ("", "In progress …"), "the result")
        return page.text("#result-text")

    assert reload() == "The configuration was reloaded, and nothing in it has changed."
    gateway.write_config({"limits": {"connections": 500}})
    assert reload() == "The configuration was reloaded:"
    assert page.text("#result-lines") == "limits.connections: 10000 (default) -> 500"
    gateway.write_config({"threads": -1})
    assert reload() == "The configuration was not reloaded. The one in use stays:"
    assert "threads: must be a whole number" in page.text("#result-lines")
    about = page.refresh().about("The last configuration was not applied")
    assert about["remedy"] == "Reload" and about["chapter"] == "Runbook: The gateway does not start or respond"
    assert re.match(r"since \d\d:\d\d", about["since"]) and "or before" not in about["since"]


def test_the_gateway_is_drained_and_put_back(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = opened_with_token(open_page, gateway)
    page.press("#drain")
    assert "/readyz return 503" in page.text("#question-text") and gateway.admin("/readyz")[0] == 200
    page.press("#question-yes")
    page.wait_for_state("Draining")
    # The page may have asked for the state by itself, before it has read the response to its change.
    wait_until(lambda: page.text("#result-text") == "This gateway drains.", "the result")
    assert gateway.admin("/readyz")[0] == 503
    assert page.text("#drain") == "End the drain" and re.match(r"since \d\d:\d\d", page.about("Draining: ")["since"])
    page.press("#problems .remedy")
    page.press("#question-yes")
    page.wait_for_state("Ready")
    wait_until(lambda: page.text("#result-text") == "This gateway drains no more, and is ready.", "the result")


def operators(**rights: list[str]) -> dict:
    """The section `admin` with a token for each name."""
    return {"token": TOKEN, "tokens": {name: {"token": f"a-token-of-{name}-for-the-page", "may": may} for name, may in rights.items()}}


def disabled(page: Dashboard) -> dict[str, str]:
    """The buttons for changes that are disabled, each with its reason."""
    buttons = "[...document.querySelectorAll('#controls button, #targets button, #problems .remedy')]"
    told = "[each.ariaLabel ?? each.textContent, each.title === each.ariaDescription ? each.title : '']"
    return dict(page.run(f"{buttons}.filter((each) => each.ariaDisabled === 'true').map((each) => {told})"))


def test_buttons_that_the_operators_token_may_not_use_say_why(start_gateway, open_page, own_recorder):
    gateway = start_gateway({"admin": operators(ada=["read"], grace=["read", "drain"])})
    raw.exchange(gateway.admin_port, "POST", "/drain", bearer(TOKEN))
    page = open_page(gateway)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    page.type_into("#token", "a-token-of-ada-for-the-page")
    page.wait_for_state("Draining")
    assert "ada, read only" in page.text("#facts")
    may_not_drain = (
        'The token of ada may not drain servers or the gateway. Add "drain" to admin.tokens.ada.may in the configuration, or use '
        "another token.")
    may_not_reload = may_not_drain.replace("drain servers or the gateway", "reload the configuration").replace('"drain"', '"reload"')
    found = disabled(page)
    assert found.pop("Reload") == may_not_reload and found.pop("End the drain") == may_not_drain
    assert f"Drain {own_recorder.url} of recorder" in found and set(found.values()) == {may_not_drain}
    # Pressed all the same, as with a finger, which sees no hint: the reason, and nothing to confirm.
    for button in ("#drain", "#targets button", "#problems .remedy"):
        page.press(button)
        assert page.text("#question-title").endswith(" is not allowed") and page.text("#question-text") == may_not_drain
        assert page.text("#question-yes") == "" and page.text("#question-no") == "Close"
        page.press("#question-no")
    assert changes_asked(page) == []
    # Another one may do more, and has buttons for it.
    page.press("#forget")
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    page.type_into("#token", "a-token-of-grace-for-the-page")
    page.wait_for_state("Draining")
    assert "grace, no reload" in page.text("#facts") and list(disabled(page)) == ["Reload"]
    page.press("#drain")
    assert page.text("#question-title") == "End the drain?" and page.text("#question-no") == "Cancel"
    page.press("#question-yes")
    page.wait_for_state("Ready")


def test_an_operator_who_may_do_all_has_all_buttons(start_gateway, open_page):
    page = opened_with_token(open_page, start_gateway({"admin": {"token": TOKEN}}))
    assert page.text("#facts").endswith("admin.token") and disabled(page) == {}


def test_without_tokens_nothing_can_be_changed_from_the_page(start_gateway, open_page):
    # Everybody on this machine may look, and nobody may change anything.
    page = open_page(start_gateway(), width=390, height=844)
    page.wait_for_state("Ready")
    found = disabled(page)
    assert {"Reload", "Drain"} < set(found) and page.text("#facts") == ""
    assert set(found.values()) == {
        "The gateway takes changes with a token only. Set admin.token or admin.tokens in its configuration."}


def test_a_change_that_is_refused_says_so(start_gateway, open_page):
    gateway = start_gateway({"admin": operators(ada=["read", "drain"])})
    page = opened_with_token(open_page, gateway, "a-token-of-ada-for-the-page")
    page.press("#drain")
    # The right is taken away while the question is read.
    gateway.write_config({"admin": operators(ada=["read"])})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 200
    page.press("#question-yes")
    wait_until(lambda: "refused" in page.text("#result-text"), "the result")
    assert page.text("#result-text") == (
        "Drain was refused (403): This token may not do that. The token of this page does not allow it.")
    # The page goes on, and a token that counts no more is said as plainly.
    assert page.text("#state") == "Ready"
    shown = 'outcome(drainGateway(), 401, \'{"message": "Authentication is required."}\')[0]'
    assert page.run(shown).startswith("Drain was refused (401): Authentication is required.")


def test_the_runbook_is_in_the_page(functions):
    used = functions.run("""[...new Set([...Object.values(OWN_FAULT_CHAPTERS),
        ...document.documentElement.outerHTML.matchAll(/chapter(?:: | = |: status\\.replicas \\? "[^"]*" : )"([^"]*)"/g)
            .map((each) => each[1])])]""")
    assert len(used) > 12
    for title in used:
        assert functions.run(f"chapterText({json.dumps(title)})?.length") > 200, title
    functions.run("showChapter('The backend is down')")
    text = functions.text("#chapter")
    assert text.startswith("The backend is down") and "Symptoms" in text and "1. " in text and "**" not in text and "`" not in text
    assert functions.run("document.querySelectorAll('#chapter-text code').length") > 5
    # A chapter ends where the next begins.
    assert "Overload" not in functions.run("chapterText('The backend is down')").splitlines()[-1]
    functions.press("#chapter-close")
    assert functions.text("#chapter") == ""


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
    page.wait_for_state("Ready")
    assert page.text("#entrance") == ""
    assert TOKEN in page.run("JSON.stringify(sessionStorage)")
    for elsewhere in ("JSON.stringify(localStorage)", "document.cookie", "location.href", "document.body.innerText"):
        assert TOKEN not in page.run(elsewhere)
    assert not any(TOKEN in url for url in page.requested())
    # Another tab does not have it, the same one does after it was loaded again, until it is told to forget.
    other = open_page(gateway)
    wait_until(lambda: other.text("#entrance label") == "Admin token", "the form in another tab")
    page.go(f"http://127.0.0.1:{gateway.admin_port}/")
    page.wait_for_state("Ready")
    page.press("#forget")
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form again")
    assert TOKEN not in page.run("JSON.stringify(sessionStorage)") and page.text("#refused") == ""
    # Of all that went wrong a browser tells that it was refused, and nothing else.
    assert all("status of 401" in each for each in page.complaints())


def test_a_token_that_may_not_read_is_told_so(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = open_page(gateway)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    refusal = json.dumps({"message": "This token may only read metrics."})
    page.run(f"window.fetch = async () => new Response({json.dumps(refusal)}, {{status: 403}})")
    page.type_into("#token", TOKEN)
    said = "The gateway does not show /status to this page: This token may only read metrics."
    wait_until(lambda: page.text("#refused") == said, "the refusal")
    assert page.text("#board") == "" and TOKEN not in page.run("JSON.stringify(sessionStorage)")


def test_a_token_that_counts_no_more_is_asked_for_again(start_gateway, open_page):
    gateway = start_gateway({"admin": {"token": TOKEN}})
    page = open_page(gateway)
    wait_until(lambda: page.text("#entrance label") == "Admin token", "the form")
    page.type_into("#token", TOKEN)
    page.wait_for_state("Ready")
    gateway.write_config({"admin": {"token": "another-token-of-some-length"}})
    assert raw.exchange(gateway.admin_port, "POST", "/reload", bearer(TOKEN)).status == 200
    # By itself: asked once more, it would ask without a token.
    wait_until(lambda: page.text("#refused") == "The gateway does not take this token.", "the refusal")
    assert page.text("#board") == ""


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
    assert page.run("document.querySelectorAll('img, iframe, script, a:not(nav a), object, base, meta[http-equiv]').length") == 1


def test_what_the_gateway_says_is_text_whatever_is_in_it(start_gateway, open_page, pool):
    gateway = start_gateway({"direct_cognito": "block"}, pool=pool)
    raw.exchange(gateway.port, "GET", "/nowhere")
    raw.exchange(gateway.port, "POST", "/", {"X-Amz-Target": CALL, "User-Agent": "Shop/1"}, b"{}")
    wait_until(lambda: json.loads(gateway.admin("/status")[1])["recent_audit_events"], "the audit event")
    page = open_page(gateway)
    page.wait_for_state("Ready")
    status = json.loads(gateway.admin("/status")[1])
    status["configuration"]["faults"] = ["fault"]
    status["listeners"][0]["certificates"] = [{"names": ["name"], "expires_at": 0}]
    status["upstreams"][0]["servers"][0]["healthy"] = False
    status["upstreams"][0]["servers"][0]["check_error"] = "error"
    status["direct_cognito"]["operations"] = {HOSTILE: 1}
    obtained = {"name": "name", "obtained_at": None, "expires_at": None, "next_attempt_at": None, "failures": 1}
    status["acme"] = [{**obtained, "error": "error", "failing_since": 1}]
    status["caller"] = {"name": "name", "may": []}
    status = json.dumps(made_hostile(status))
    label = HOSTILE.replace('"', '\\"')
    metrics = gateway.admin("/metrics")[1].replace("} 0", "} 1")
    metrics = re.sub(r'(route|reason|operation|application)="', rf'\g<1>="{label}', metrics)
    page.answer_with(lambda url: {"status": status, "metrics": metrics}.get(url.rsplit("/", 1)[1]))
    page.refresh()
    page.refresh()
    assert_nothing_got_in(page)
    seen = page.run("document.body.innerText")
    page.unfold()
    tables = ("facts", "targets", "issuers", "acme", "denials", "apps", "recent-denials", "recent-events")
    for place in ("version", "problems", "app-note", *tables):
        assert HOSTILE in page.text(f"#{place}"), place
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
    account = Account(gateway.port, ledger, headers={"User-Agent": target})
    account.login(ADA[0], "A-Wrong-Password-Of-Markup", device_info=device)
    page = open_page(gateway).unfold()
    wait_until(lambda: "sign_in_failed" in page.refresh().text("#recent-events"), "the event")
    assert target in page.text("#recent-denials")
    assert_nothing_got_in(page)
    page.assert_sound(gateway)


# ---- Without an answer


def test_without_an_answer_it_says_how_old_the_figures_are(start_gateway, open_page):
    gateway = start_gateway()
    page = open_page(gateway)
    # The requests are those since the page's first reading.
    page.wait_for_state("Ready")
    for _ in range(5):
        raw.exchange(gateway.port, "GET", "/recorded/public/x")
    wait_until(lambda: page.refresh().targets()["route public"]["4xx"] == "0 %", "the requests")
    gateway.stop()
    (said, *_) = page.problems()
    assert said.startswith("The gateway has not responded to this page since") and said.endswith(": it cannot be reached.")
    assert page.text("#state") == "No response" and re.fullmatch(r"figures \d+ s old", page.text("#updated"))
    assert page.targets()["route public"]["state"] == "serving"
    # Another process: counts begin anew, and nothing is negative.
    again = Gateway(gateway.config_path.parent, "gateway", gateway.config)
    try:
        wait_until(lambda: page.problems() == ["Nothing needs attention."], "the answer")
        raw.exchange(again.port, "GET", "/recorded/public/x")
        wait_until(lambda: "route public" in page.refresh().targets(), "the new process's request")
        assert not re.search(r"[-−]\d|NaN|undefined|null|Infinity", page.text(".tiles") + page.text("#targets"))
    finally:
        again.stop()


def test_while_nobody_looks_nothing_is_asked(start_gateway, open_page):
    gateway = start_gateway()
    page = open_page(gateway)
    page.wait_for_state("Ready")

    def see(state: str) -> None:
        page.run(f"Object.defineProperty(document, 'visibilityState', {{value: '{state}', configurable: true}})")
        page.run("document.dispatchEvent(new Event('visibilitychange'))")

    see("hidden")
    page.refresh()
    assert page.run("timer") is None
    before = len(page.requested())
    see("visible")
    wait_until(lambda: len(page.requested()) > before, "a request as soon as it is seen")
    wait_until(lambda: page.run("timer") is not None, "the next one")
