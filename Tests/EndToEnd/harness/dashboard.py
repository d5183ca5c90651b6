"""The dashboard of a gateway in Chromium, and fixtures for it."""

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
        """The problems that need attention now, a line each."""
        return self.refresh().text("#problems").splitlines()

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
