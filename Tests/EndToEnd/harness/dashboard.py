"""The dashboard of a gateway in Chromium, and fixtures for it."""

import json
from pathlib import Path

import pytest

from .browser import Browser, Page
from .gateway import Gateway
from .process import wait_until


class Dashboard(Page):
    """The admin listener's page at `/`."""

    def refresh(self) -> "Dashboard":
        """Makes the page ask at once, after any earlier question, and waits until it shows the response."""
        self.run("Promise.resolve(asking).then(refresh)")
        return self

    def problems(self) -> list[str]:
        """The problems that need attention now, a sentence each."""
        self.refresh()
        return self.run("[...document.querySelectorAll('#problems .what')].map((each) => each.textContent)")

    def about(self, problem: str) -> dict[str, str]:
        """Since when there is the problem that begins with this text, why, and what to do, as far as they are shown."""
        parts = "[...entry.lastElementChild.children].filter((each) => !each.hidden).map((each) => [each.className, each.innerText])"
        found = f"[...document.querySelectorAll('#problems li')].find((each) => each.innerText.includes({json.dumps(problem)}))"
        return dict(self.run(f"((entry) => entry ? {parts} : [])({found})"))

    def targets(self) -> dict[str, dict[str, str]]:
        """The rows of servers and routes from the first to the last, as `server UPSTREAM URL` and `route NAME`."""
        names = ("name", "rate", "4xx", "5xx", "p50", "p99", "state", "since", "action")
        rows = self.run("[...document.querySelectorAll('#targets tr')].map((row) => [row.dataset.key, [...row.cells].map((cell) => cell.textContent)])")
        return {key: dict(zip(names, cells, strict=True)) for key, cells in rows}

    def unfold(self) -> "Dashboard":
        """Opens the tables that are folded."""
        self.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        return self

    def row(self, selector: str, name: str) -> list[str] | None:
        """The row of a table whose first cell begins with a line of this text."""
        return next((cells for cells in self.rows(selector) if cells and cells[0].splitlines()[0] == name), None)

    def wait_for_state(self, state: str) -> None:
        wait_until(lambda: self.text("#state") == state, f"the page to say {state}")

    def assert_sound(self, gateway: Gateway) -> None:
        """The page complains of nothing and has asked nobody but its own listener."""
        assert self.complaints() == []
        own = f"http://127.0.0.1:{gateway.admin_port}/"
        asked = {url.split("?")[0] for url in self.requested() if not url.startswith("data:")}
        assert asked <= {own, f"{own}status", f"{own}metrics", f"{own}readyz", f"{own}history"} and own in asked


@pytest.fixture(scope="session")
def browser(run_directory: Path):
    directory = run_directory / "browser"
    directory.mkdir()
    browser = Browser(directory)
    yield browser
    browser.stop()


@pytest.fixture
def open_page(browser: Browser):
    """Opens the dashboard of a gateway: `open_page(gateway, width=…, height=…)`."""
    pages: list[Page] = []

    def open_page(gateway: Gateway, **size: int) -> Page:
        pages.append(browser.open(Dashboard, f"http://127.0.0.1:{gateway.admin_port}/", **size))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.fixture(scope="module")
def functions(browser: Browser, gateway: Gateway):
    """A dashboard whose own functions a test calls; it asks for nothing by itself any more."""
    page = browser.open(Dashboard, f"http://127.0.0.1:{gateway.admin_port}/")
    page.wait_for_state("Ready")
    page.run("clearTimeout(timer)")
    yield page
    page.close()
