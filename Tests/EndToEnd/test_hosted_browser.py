"""A hosted sign-in in headless Chromium: from `authorize` through LocalPool's pages to the app's own scheme."""

import pytest
from harness.browser import Page
from harness.gateway import ADA, Gateway, LocalPool, gateway_config
from harness.hosted import PREFIX, App, hosted_pool, hosted_settings
from harness.process import SILENT_PORT, free_port, wait_until


@pytest.fixture(scope="module", params=["127.0.0.1", "localhost"], ids=["one site", "two sites"])
def hosted_gateway(run_directory, issuer, request):
    """One on the site of the pool's pages, and one on another: the browser brings its cookie back to either."""
    port = free_port()
    public_url = f"http://{request.param}:{port}"
    served = hosted_pool(port)
    served["client"]["hosted"]["callback_urls"] = [f"{public_url}{PREFIX}/callback"]
    pool = LocalPool(run_directory, f"hosted-browser-pool-{port}", served)
    directory = run_directory / f"hosted-browser-{port}"
    directory.mkdir()
    changes = {
        "listeners": [{"address": f"127.0.0.1:{port}"}],
        "sign_in": {"cognito": {"hosted": hosted_settings(pool, port, public_url=public_url)}},
    }
    nobody = f"http://127.0.0.1:{SILENT_PORT}"
    gateway = Gateway(directory, "gateway", gateway_config(directory, nobody, issuer.server.url, None, pool, changes))
    gateway.public_url = public_url
    yield gateway
    gateway.stop()
    pool.stop()


def handed_over(page: Page) -> str:
    """The URI of the app that the last redirect led to, which the browser has no program for."""

    def find() -> list[str]:
        page.run("0")
        headers = [
            event["params"]["headers"] for event in page.events if event["method"] == "Network.responseReceivedExtraInfo"
        ]
        targets = [value for each in headers for name, value in each.items() if name.lower() == "location"]
        return [target for target in targets if target.startswith("com.example.app:")]

    return wait_until(find, "the redirect to the app", 20)[-1]


def fill_in(page: Page, **values: str) -> None:
    """Types into the fields with these names, and presses the enter key in the last one."""
    *first, (name, value) = values.items()
    for each, text in first:
        page.run(f"document.querySelector('input[name={each}]').focus()")
        page.send("Input.insertText", text=text)
    page.type_into(f"input[name={name}]", value)


def test_a_browser_signs_in_and_hands_the_code_to_the_app(hosted_gateway, browser, ledger):
    app = App(hosted_gateway.public_url + PREFIX)
    page = browser.open(Page, app.authorize_url(prompt="login"))
    wait_until(lambda: page.text("h1") == "Sign in", "the page", 20)
    assert page.complaints() == []
    fill_in(page, username=ADA[0], password=ADA[1])
    answer = app.redeem(app.code(handed_over(page)))
    assert answer.status_code == 200
    ledger.note(answer.json()["access_token"], answer.json()["refresh_token"])
    assert answer.json()["user"]["email"] == ADA[0]
    page.close()


def test_a_browser_signs_in_at_an_identity_provider(hosted_gateway, browser, ledger):
    app = App(hosted_gateway.public_url + PREFIX)
    page = browser.open(Page, app.authorize_url(identity_provider="Google"))
    wait_until(lambda: "Google" in page.text("h1"), "the provider's page", 20)
    fill_in(page, name="Kim", user_id="3001", email="kim@gmail.example")
    answer = app.redeem(app.code(handed_over(page)))
    assert answer.status_code == 200
    ledger.note(answer.json()["access_token"], answer.json()["refresh_token"])
    assert answer.json()["user"]["username"] == "Google_3001"
    page.close()
