"""The dashboard on a phone, a tablet and a desktop, by day and by night, and for those who do not see it."""

import pytest
from harness import raw
from harness.account import Account
from harness.certificates import Authority
from harness.dashboard import Dashboard
from harness.gateway import ADA
from harness.process import SILENT_PORT, free_port, wait_until
from test_dashboard import opened_with_token

# Of each text that is seen, its contrast to what is behind it (WCAG 2.2, 1.4.3).
CONTRASTS = """(() => {
    const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const light = (colour) => {
        const linear = (x) => x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
        const [r, g, b] = parts(colour).map((part) => linear(part / 255));
        return .2126 * r + .7152 * g + .0722 * b;
    };
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor;
            if (parts(colour)[3] !== 0) return colour;
        }
    };
    const written = [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility()
        && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
    return written.map((node) => {
        const [a, b] = [light(getComputedStyle(node).color), light(ground(node))];
        return [(Math.max(a, b) + .05) / (Math.min(a, b) + .05), node.textContent.slice(0, 40)];
    });
})()"""

# Elements that do not fit into their own box.
OVERFLOWING = """[...document.querySelectorAll("section, table, th, td, p, li")]
    .filter((node) => node.scrollWidth > node.clientWidth + 1 && !node.matches(".unseen"))
    .filter((node) => getComputedStyle(node).textOverflow !== "ellipsis" || !node.title && node.tagName !== "TABLE")
    .map((node) => node.outerHTML.slice(0, 200))"""

# Names of servers and routes of which only a part is seen. Two of them may begin alike.
CUT_NAMES = """[...document.querySelectorAll("#services tbody th")]
    .filter((name) => name.scrollWidth > name.clientWidth + 1).map((name) => name.textContent)"""

# Cells whose text takes more than one line.
WRAPPED = """[...document.querySelectorAll(".columns :is(td, th), .tiles :is(td, th)")].flatMap((cell) => {
    const texts = [...cell.childNodes].filter((child) => child.nodeType === 3 && child.data.trim());
    return texts.filter((text) => {
        const range = document.createRange();
        range.selectNodeContents(text);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
    }).map((text) => text.data);
})"""

# Texts of a phone that need not wrap: those of the page's own words, in the header and in tables.
WRAPPED_WORDS = WRAPPED.replace(".columns :is(td, th), .tiles :is(td, th)", "header *, thead th, #capacity :is(td, th), summary *")

# Where the columns beneath the figures end.
ENDS = """[...document.querySelectorAll(".columns > div")].map((column) => Math.max(0, ...[...column.querySelectorAll("section")]
    .filter((each) => each.checkVisibility()).map((each) => Math.round(each.getBoundingClientRect().bottom))))"""

# Times beneath a chart that lead out of its tile.
CUT_MARKS = """[...document.querySelectorAll(".axis span")].filter((mark) => {
    const [box, tile] = [mark, mark.closest("section")].map((each) => each.getBoundingClientRect());
    return mark.textContent && (box.left < tile.left + 4 || box.right > tile.right - 4);
}).map((mark) => mark.textContent)"""

# Whether each bar is beneath its text, and covers nothing of it.
BARRED = """[...document.querySelectorAll(".bar")].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return cell.getBoundingClientRect().bottom - Math.max(...[...range.getClientRects()].map((box) => box.bottom)) >= 2;
})"""

# How much of the space beneath the figures has nothing in it.
EMPTY = """(() => {
    const box = document.querySelector(".columns").getBoundingClientRect();
    const filled = [...document.querySelectorAll(".columns section")].filter((each) => each.checkVisibility())
        .map((each) => each.getBoundingClientRect()).reduce((area, each) => area + each.width * each.height, 0);
    return 1 - filled / (box.width * box.height);
})()"""

# Tables with as many headers of rows as rows, and things without a name.
HEADED = """[...document.querySelectorAll("tbody")]
    .map((body) => [body.querySelectorAll("th[scope=row], td.empty").length, body.rows.length])"""
NAMELESS = """[...document.querySelectorAll("section, svg[role=img], input")]
    .filter((node) => !node.ariaLabel && !node.labels?.length
        && !document.getElementById(node.getAttribute("aria-labelledby"))?.textContent)
    .map((node) => node.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize("width", [390, 820, 1440, 2560])
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
    call = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth", "User-Agent": "A" * 64}
    raw.exchange(gateway.port, "POST", "/", call, b"{}")
    Account(gateway.port, ledger).login(ADA[0], "A-Wrong-Password-For-The-Look")
    page = open_page(gateway, width=width, height=844)
    wait_until(lambda: f"route {long}" in page.targets(), "the page")
    if width == 390:
        assert_problems_come_first(page)
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.refresh()
        page.screenshot(run_directory / f"dashboard-{width}-{scheme}.png", whole=True)
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.run(OVERFLOWING) == []
        assert [found for found in page.run(CONTRASTS) if found[0] < 4.5] == []
        assert all(page.run(BARRED))
        if width == 390:
            assert page.run(WRAPPED_WORDS) == [] and page.run(CUT_NAMES) == []
        if width == 1440:
            # From the top to the bottom: servers, refusals and accounts on the left, and on the right the rest.
            services, latest, accounts, side = page.run(ENDS)
            assert services < latest < accounts and accounts == side
        if width == 2560:
            services, latest, accounts, side = page.run(ENDS)
            assert services < accounts and accounts == latest == side
        if width >= 1440:
            assert page.unfold().run(WRAPPED) == []
            page.run("document.querySelectorAll('details').forEach((each) => { each.open = false; })")
        if width == 2560:
            assert page.run(EMPTY) < 0.4
    page.unfold()
    assert page.run("document.documentElement.scrollWidth") <= width and page.run(OVERFLOWING) == []
    assert page.run(CUT_MARKS) == []
    page.assert_sound(gateway)


def test_a_phone_shows_who_its_operator_is(start_gateway, open_page):
    token = "a-token-of-ada-for-the-page"
    gateway = start_gateway({"admin": {"tokens": {"ada": {"token": token, "may": ["read"]}}}})
    page = opened_with_token(open_page, gateway, token, width=390, height=844)
    assert page.text("#facts").split("\n") == ["operator", "ada, read only"]
    assert page.run(WRAPPED_WORDS) == [] and page.run("document.querySelector('#problems').getBoundingClientRect().top") < 130


def assert_problems_come_first(page: Dashboard) -> None:
    """Without scrolling a phone shows the state and the first problem, and what leads to the rest."""
    assert page.run("document.querySelector('#problems').getBoundingClientRect().top") < 110
    links = page.run("[...document.querySelectorAll('#jumps a')].map((each) => [each.hash, each.getBoundingClientRect().bottom <= innerHeight])")
    assert len(links) > 4 and all(is_seen for _, is_seen in links)
    for target, _ in links:
        page.press(f"#jumps a[href='{target}']")
        top = page.run(f"document.querySelector('{target}').getBoundingClientRect().top")
        assert 0 <= top < 500 or page.run("scrollY + innerHeight >= document.documentElement.scrollHeight - 1"), target
    page.run("scrollTo(0, 0)")


def test_it_can_be_used_without_eyes_or_a_pointer(functions):
    assert all(headed == rows > 0 for headed, rows in functions.run(HEADED))
    assert functions.run(NAMELESS) == []
    assert functions.run("document.documentElement.lang") == "en"
    # A change of a number alone is not read out.
    say = "(text) => { announce([{level: 'bad', text}]); return document.querySelector('#announced').textContent; }"
    said = functions.run(f"['3 of 4 failed', '5 of 6 failed', 'gone'].map({say})")
    assert said == ["Urgent: 3 of 4 failed", "Urgent: 3 of 4 failed", "Urgent: gone"]
