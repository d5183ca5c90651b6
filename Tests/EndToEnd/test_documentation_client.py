"""The pages about the client's side say what is so: each call's examples work against a gateway with the local pool, the
app's code signs in and refreshes, and tables and defaults are those of the program."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from harness import documentation, raw
from harness.account import Account, Ledger
from harness.apple_app import apple_settings, sha256hex
from harness.deployment import checked
from harness.gateway import ADA, REPOSITORY, Gateway, LocalPool, Served, merged
from harness.local_apple import LocalApple, team_key
from harness.local_pool_control import advance_clock, control, one_time_code
from harness.process import accepts_connections, free_port, wait_until
from harness.sanitizer import PATIENCE

RENDERER = REPOSITORY / "docs" / "render_openapi.py"
DESCRIPTIONS = {"client-api": "openapi.yaml", "admin-api": "openapi-admin.yaml"}
ADMIN_TOKEN = "an-admin-token-of-some-length"
DEVICE = "0d9d63fa-6f6c-4f0e-9a7c-2b0e7f4f1f54"
BEN = "ben@example.com"
SWIFT = pytest.mark.skipif(not shutil.which("swiftc"), reason="no Swift compiler")


# ---- The pages of the calls


def rendered(*options: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(RENDERER), *options], capture_output=True, text=True, timeout=60 * PATIENCE)


def test_the_pages_of_the_calls_are_what_the_descriptions_give():
    result = rendered("--check")
    assert result.returncode == 0, result.stderr
    assert rendered("--unknown").returncode == 2


def test_a_page_that_is_not_current_is_noticed_and_written_anew(tmp_path):
    for name in ("docs", "deploy"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=lambda *_: ["loadtest", "media"])
    page, stray = tmp_path / "docs/reference/client-api/sign-in.md", tmp_path / "docs/reference/client-api/gone.md"
    text = page.read_text()
    page.write_text(text + "more\n")
    stray.write_text("# Gone\n")
    script = [sys.executable, str(tmp_path / "docs" / RENDERER.name)]
    noticed = subprocess.run([*script, "--check"], capture_output=True, text=True, timeout=60 * PATIENCE)
    assert noticed.returncode == 1
    assert noticed.stderr.splitlines() == [
        f"docs/reference/client-api/{name}.md is not what docs/render_openapi.py writes" for name in ("gone", "sign-in")
    ]
    assert subprocess.run(script, timeout=60 * PATIENCE).returncode == 0
    assert page.read_text() == text and not stray.exists()


def operations(description: str) -> list[dict]:
    paths = yaml.safe_load((REPOSITORY / "deploy" / description).read_text())["paths"].values()
    return [each for item in paths for method, each in item.items() if method != "parameters"]


def example_blocks(api: str, language: str) -> dict[str, str]:
    """The examples in one language on the pages of a description, by operation: each section has one at most."""
    names = {each["summary"]: each["operationId"] for each in operations(DESCRIPTIONS[api])}
    found = {}
    for path in (REPOSITORY / "docs" / "reference" / api).glob("*.md"):
        page = str(path.relative_to(REPOSITORY))
        headings = [(number, line[3:]) for number, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("## ")]
        for block in documentation.blocks(page):
            if block.language == language:
                heading = [title for number, title in headings if number < block.line][-1]
                assert names[heading] not in found, f"{block}: one more example"
                found[names[heading]] = block.text
    return found


class Curl:
    """Runs an example as it stands in a shell. Status and body come from `.curlrc`."""

    def __init__(self, api: str, directory: Path):
        self.blocks = example_blocks(api, "sh")
        (directory / ".curlrc").write_text('silent\nshow-error\nnoproxy = "*"\nwrite-out = "\\n%{http_code}"\n')
        self.directory = directory

    def __call__(self, operation: str, variables: dict[str, str]) -> tuple[int, object]:
        environment = {**os.environ, "CURL_HOME": str(self.directory), **variables}
        result = subprocess.run(
            ["bash", "-euc", self.blocks[operation]], env=environment, capture_output=True, text=True, timeout=30 * PATIENCE
        )
        assert result.returncode == 0, f"{operation}: {result.stderr}"
        body, _, status = result.stdout.rpartition("\n")
        return int(status), json.loads(body) if body.startswith("{") else body


class SwiftProgram:
    """All Swift examples in one program that runs the one it is asked for. The names in them are variables of the
    environment, and they are called from the main actor, as an app does."""

    def __init__(self, directory: Path):
        self.blocks = example_blocks("client-api", "swift")
        helper = documentation.block("swift-client.md", "gatehouse")
        own = 'URL(string: "http://127.0.0.1:8080")!'
        assert own in helper
        (directory / "Gatehouse.swift").write_text(helper.replace(own, 'URL(string: variable("GATEHOUSE"))!'))
        variables = sorted({name for text in self.blocks.values() for name in re.findall(r"[:(] ?(\w+)[,)]", text)})
        lines = ["import Foundation", 'func variable(_ name: String) -> String { ProcessInfo.processInfo.environment[name] ?? "" }']
        for name in variables:
            if not name[0].isdigit() and name not in ("true", "false", "nil"):
                shell = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()
                lines.append(f'let {name} = variable("{shell}")')
        (directory / "Variables.swift").write_text("\n".join(lines) + "\n")
        cases = []
        for operation, text in self.blocks.items():
            lines = "".join(f"        {line}\n" for line in text.splitlines())
            cases.append(f'    case "{operation}":\n{lines}        return response\n')
        (directory / "main.swift").write_text(
            "import Foundation\n"
            "@MainActor func run(_ operation: String) async throws -> [String: Any] {\n    switch operation {\n"
            + "".join(cases)
            + '    default: fatalError("no such call")\n    }\n}\n'
            "do {\n    let body = try await run(CommandLine.arguments[1])\n"
            "    print(String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self))\n"
            "} catch let error as GatehouseError {\n    print(error)\n    exit(1)\n}\n"
        )
        self.program = directory / "calls"
        files = [directory / name for name in ("Gatehouse.swift", "Variables.swift", "main.swift")]
        checked("swiftc", "-swift-version", "6", "-warnings-as-errors", "-o", self.program, *files)

    def __call__(self, operation: str, variables: dict[str, str]) -> tuple[None, object]:
        environment = {**os.environ, **variables}
        result = subprocess.run(
            [self.program, operation], env=environment, capture_output=True, text=True, timeout=30 * PATIENCE
        )
        assert result.returncode == 0, f"{operation}: {result.stdout}{result.stderr}"
        return None, json.loads(result.stdout)


@dataclass
class Reader:
    """A reader who tries the examples one after the other, with the variables that the responses have given."""

    run: object
    variables: dict[str, str]
    tried: set[str] = field(default_factory=set)

    def __call__(self, operation: str, status: int, **variables: str):
        self.tried.add(operation)
        self.variables.update(variables)
        seen, body = self.run(operation, self.variables)
        assert seen in (None, status), f"{operation}: {seen} {body}"
        return body

    def signed_in(self, tokens: dict) -> None:
        self.variables.update(ACCESS_TOKEN=tokens["access_token"], REFRESH_TOKEN=tokens["refresh_token"])


@pytest.fixture(scope="module")
def swift_program(tmp_path_factory) -> SwiftProgram:
    return SwiftProgram(tmp_path_factory.mktemp("swift-examples"))


@pytest.fixture
def apple(tmp_path):
    changes = {
        "mfa": {"mode": "optional", "methods": ["SOFTWARE_TOKEN_MFA"]},
        "first_factors": ["PASSWORD", "WEB_AUTHN"],
        "web_authn": {"relying_party_id": "auth.example.com"},
    }
    apple = LocalApple(tmp_path, changes=changes)
    yield apple
    apple.stop()


@pytest.fixture
def gateway(start_gateway, apple) -> Gateway:
    passwordless = {"factors": ["WEB_AUTHN"], "relying_party_id": "auth.example.com"}
    changes = {
        "identity": {"assertion": {"issuer": "https://api.example.com"}},
        "sign_in": {"cognito": {"passwordless": passwordless, "client_metadata": ["campaign"]}},
    }
    settings = merged(apple_settings(apple), changes)
    return start_gateway(settings, pool=apple)


def try_accounts(reader: Reader, pool: LocalPool) -> None:
    reader.signed_in(reader("login", 200))
    assert reader("me", 200)["email"] == ADA[0]
    assert reader("updateMe", 200)["name"] == "Ada King"
    assert reader("exportMe", 200)["sessions"][0]["device_id"] == DEVICE
    reader.signed_in(reader("refresh", 200))
    assert reader("passkeyOptions", 200)["options"]["rp"]["id"] == "auth.example.com"
    assert reader("passkeys", 200) == {"passkeys": []}
    if isinstance(reader.run, Curl):
        # An example cannot answer the options of the moment.
        assert reader("registerPasskey", 422)["error"] == "InvalidParameterException"
        assert reader("deletePasskey", 404)["error"] == "NotFoundException"
    key = reader("setUpTotp", 200)["secret"]
    reader("verifyTotp", 204, CODE=one_time_code(pool, key))
    # The pool takes each code once.
    advance_clock(pool, 30)
    asked = reader("login", 202)
    reader.signed_in(reader("answerChallenge", 200, SESSION=asked["session"], CODE=one_time_code(pool, key)))
    reader("removeTotp", 204)
    try_profile(reader, pool)
    reader("changePassword", 204)
    reader("logout", 204)
    assert reader("register", 201)["confirmed"] is False
    reader("resendCode", 202)
    reader("confirm", 200, CODE=pool.confirmation_code(BEN))
    reader("forgotPassword", 202)
    reader("resetPassword", 204, CODE=pool.confirmation_code(BEN))
    # The reset has ended the sessions until then.
    ben = Account(int(reader.variables["GATEHOUSE"].rsplit(":", 1)[1]), Ledger()).login(BEN, "Staple-Horse-10-Battery")
    assert ben.status == 200, ben.body
    reader.signed_in(ben.json())
    reader("deleteMe", 204)


def try_profile(reader: Reader, pool: LocalPool) -> None:
    other = next(each for each in reader("listSessions", 200)["sessions"] if not each["current"])
    reader("endOneSession", 204, SESSION_ID=other["id"])
    reader("endOtherSessions", 204)
    assert reader("changeEmail", 202)["delivery"]["medium"] == "EMAIL"
    reader("resendEmailCode", 202)
    code = control(pool, "GET", "inbox?email=ada.king@example.com")[-1]["code"]
    assert reader("verifyEmail", 200, CODE=code)["email"] == "ada.king@example.com"
    assert reader("changePhone", 202)["delivery"]["medium"] == "SMS"
    reader("resendPhoneCode", 202)
    code = control(pool, "GET", "inbox?phone=%2B4915112345678")[-1]["code"]
    assert reader("verifyPhone", 200, CODE=code)["attributes"]["phone_number_verified"] is True
    assert reader("secondFactors", 200)["enabled"] == []
    assert reader("setSecondFactors", 200)["preferred"] == "SOFTWARE_TOKEN_MFA"


def try_sessions(reader: Reader, apple: LocalApple) -> None:
    def sign_in(nonce: str) -> dict:
        phone = apple.apple_sign_in(nonce=sha256hex(nonce))
        given = {"IDENTITY_TOKEN": phone["identity_token"], "AUTHORIZATION_CODE": phone["authorization_code"]}
        begun = reader("appleSignIn", 200, NONCE=nonce, **given)
        reader.variables["SESSION_TOKEN"] = begun["token"]
        return begun

    assert sign_in(reader("appleNonce", 200)["nonce"])["user"]["name"] == "Ada Lovelace"
    assert reader("validateSession", 200)["user"]["role"] == "customer"
    assert reader("exportSessionUser", 200)["sessions"]
    reader.variables["SESSION_TOKEN"] = reader("refreshSession", 200)["token"]
    assert reader("sessionUser", 200)["user"]["name"] == "Ada Lovelace"
    assert reader("updateSessionUser", 200)["user"]["phoneNumber"] == "+4915112345678"
    reader("endSession", 204)
    sign_in("a-nonce-of-the-app")
    first = reader("listUserSessions", 200)["sessions"][0]["id"]
    sign_in("another-nonce-of-the-app")
    reader("endOneUserSession", 204, SESSION_ID=first)
    reader("endOtherUserSessions", 204)
    reader("deleteSessionUser", 204)


def test_each_curl_example_of_the_client_api_works(gateway, apple, tmp_path):
    reader = Reader(Curl("client-api", tmp_path), {"GATEHOUSE": gateway.url})
    try_accounts(reader, apple)
    try_sessions(reader, apple)
    told = apple.event("email-disabled", "ada@icloud.example", send=False)
    reader("appleNotification", 200, PAYLOAD=told["payload"])
    assert reader("assertionKeys", 200)["keys"]
    calls = {each["operationId"] for each in operations("openapi.yaml") if each.get("x-has-curl", True)}
    assert reader.tried == calls == set(reader.run.blocks)


@SWIFT
@pytest.mark.timeout(300)
def test_each_swift_example_of_the_client_api_works(gateway, apple, swift_program):
    reader = Reader(swift_program, {"GATEHOUSE": gateway.url})
    try_accounts(reader, apple)
    try_sessions(reader, apple)
    calls = {
        each["operationId"]
        for each in operations("openapi.yaml")
        if each.get("x-called-by-apps", True) and each.get("x-has-example", True)
    }
    assert reader.tried == calls == set(swift_program.blocks)


def test_each_curl_example_of_the_admin_api_works(start_gateway, apple, tmp_path, ledger):
    settings = merged(apple_settings(apple), {"admin": {"token": ADMIN_TOKEN}, "upstreams": {"api": {"url": "http://127.0.0.1:9000"}}})
    gateway = start_gateway(settings, pool=apple)
    gateway.wait_until_ready()
    body = {"identity_token": "", "nonce": "a-nonce-of-the-app"}

    def user() -> str:
        body["identity_token"] = apple.apple_sign_in(nonce=sha256hex(body["nonce"]))["identity_token"]
        answer = Account(gateway.port, ledger, "/api/auth").post("apple", body)
        assert answer.status == 200, answer.body
        return answer.json()["user"]["id"]

    admin = f"http://127.0.0.1:{gateway.admin_port}"
    reader = Reader(Curl("admin-api", tmp_path), {"ADMIN": admin, "ADMIN_TOKEN": ADMIN_TOKEN})
    assert "<!doctype html>" in reader("dashboard", 200).lower()
    assert (reader("healthz", 200), reader("readyz", 200)) == ("ok\n", "ready\n")
    assert "gatehouse_requests_total" in reader("metrics", 200)
    assert reader("status", 200)["ready"] is True
    assert reader("history", 200)["interval_seconds"] == 15
    assert reader("reload", 200)["reloaded"] is True
    assert reader("drain", 200) == {"draining": True, "ready": False}
    assert reader("endDrain", 200) == {"draining": False, "ready": True}
    assert reader("drainServer", 200)["drained"] is True
    assert reader("endServerDrain", 200)["drained"] is False
    assert reader("logLevel", 200) == {"level": "debug", "was": "info"}
    ada = user()
    assert [each["id"] for each in reader("listUsers", 200)["users"]] == [ada]
    assert reader("showUser", 200, USER_ID=ada)["sessions"] == 1
    assert reader("setRole", 200) == {"user": ada, "role": "driver", "sessions_ended": 1}
    assert reader("disableUser", 200)["disabled"] is True
    assert reader("enableUser", 200)["disabled"] is False
    tokens = Account(gateway.port, ledger).login(*ADA).json()
    (session,) = reader("listSessions", 200, SUBJECT=tokens["user"]["id"])["sessions"]
    assert reader("endSession", 200, SESSION=session["id"])["sessions_ended"] == 1
    assert reader("endSessions", 200)["sessions_ended"] == 0
    assert reader.tried == {each["operationId"] for each in operations("openapi-admin.yaml")} == set(reader.run.blocks)


# ---- The app's side


@SWIFT
def test_the_apps_swift_code_compiles(tmp_path):
    path = tmp_path / "GatehouseClient.swift"
    path.write_text(documentation.block("swift-client.md", "client"))
    checked("swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", path)
    use = documentation.block("swift-client.md", "client-use")
    body = "".join(f"    {line}\n" for line in use.splitlines())
    path.with_name("main.swift").write_text(f"import Foundation\nfunc use(_ deviceID: String) async throws {{\n{body}    _ = orders\n}}\n")
    checked("swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors", path, path.with_name("main.swift"))


# An app around the sample: signs in, and gets a page for each line it reads.
APP = '''
let arguments = CommandLine.arguments
guard let base = URL(string: arguments[1]) else { fatalError("no URL") }
let client = GatehouseClient(base: base, deviceID: "phone-of-the-page", tokens: nil)
try await client.signIn(email: arguments[2], password: arguments[3])
print("signed in")
fflush(nil)
while let path = readLine() {
    print(String(decoding: try await client.get(path), as: UTF8.self))
    fflush(nil)
}
'''


@SWIFT
def test_the_apps_swift_code_signs_in_calls_and_refreshes(tmp_path, start_gateway, ledger):
    (tmp_path / "GatehouseClient.swift").write_text(documentation.block("swift-client.md", "client"))
    (tmp_path / "main.swift").write_text("import Foundation\n" + APP)
    program = tmp_path / "app"
    checked("swiftc", "-swift-version", "6", "-o", program, tmp_path / "GatehouseClient.swift", tmp_path / "main.swift")
    ledger.note(ADA[1])
    # Whole seconds: of a single one there may be nearly nothing left.
    pool = LocalPool(tmp_path, changes={"lifetimes": {"access_token": 3}})
    gateway = start_gateway({"issuers": {"pool": {"clock_skew": "0s"}}}, pool=pool)
    app = subprocess.Popen(
        [program, gateway.url, *ADA], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def line() -> str:
        text = app.stdout.readline().strip()
        assert text, app.stderr.read()
        return text

    def get() -> str:
        app.stdin.write("api/v1/auth/me\n")
        app.stdin.flush()
        return line()

    try:
        assert line() == "signed in"
        refreshes = lambda: [each["status"] for each in gateway.access_log() if each["route"] == "gatehouse:refresh"]
        # A token lives for three seconds: until one has ended, and the app has got the next.
        wait_until(lambda: f'"email":"{ADA[0]}"' in get() and refreshes(), "a refresh", 20)
        assert refreshes()[0] == 200
        wait_until(lambda: f'"email":"{ADA[0]}"' in get(), "a call after it")
        signed_in = gateway.audit_log("signed_in")[0]
        assert signed_in["device_id"] == "phone-of-the-page" and "device_platform" not in signed_in
    finally:
        app.kill()
        app.communicate()
        pool.stop()


# ---- The local pool


def page_text(name: str, port: int) -> str:
    """A block of local-pool.md, with the pool's port in place of the page's."""
    return documentation.block("local-pool.md", name).replace("9229", str(port))


def shell_block(word: str, port: int) -> str:
    """The output of the shell block of local-pool.md with this word, and the value of `NONCE` in a line of its own."""
    found = [each.text for each in documentation.blocks("local-pool.md") if each.language == "sh" and word in each.text]
    assert len(found) == 1, word
    script = found[0].replace("9229", str(port)) + '\nprintf "\\n%s" "${NONCE:-}"\n'
    result = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, timeout=30 * PATIENCE)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def page_pool(tmp_path):
    """The local pool of local-pool.md, with a local Apple as the page's settings of the gateway want it; its port."""
    port = free_port()
    (tmp_path / "apple-key.p8").write_text(team_key())
    keys = [{"id": "LOCALKEY00", "key": f"file:{tmp_path}/apple-key.p8"}]
    apple = {"team_id": "LOCALTEAM0", "client_ids": ["com.example.app"], "keys": keys}
    settings = yaml.safe_load(page_text("local-pool", port))
    settings = {**settings, "database": str(tmp_path / settings["database"]), "apple": apple}
    pool = Served(tmp_path, "pool", "local-pool", settings)
    pool.process.wait_ready(lambda: accepts_connections(port), "the page's local pool")
    yield port
    pool.stop()


def test_the_pages_pool_serves_the_pages_gateway(tmp_path, page_pool, start_gateway, ledger):
    changes = merged(yaml.safe_load(page_text("gateway", page_pool)), yaml.safe_load(page_text("apple", page_pool)))
    changes["sign_in"]["apple"]["server"]["private_key"] = f"file:{tmp_path}/apple-key.p8"
    gateway = start_gateway(changes)
    account = Account(gateway.port, ledger)
    assert account.login(*ADA).json()["user"]["groups"] == ["beta"]
    # The inbox, an error to rehearse, and a phone: each with the line of the page.
    assert account.post("register", {"email": BEN, "password": "Staple-Horse-9-Battery"}).status == 201
    inbox = json.loads(shell_block("inbox", page_pool))
    assert account.post("confirm", {"email": BEN, "code": inbox[-1]["code"]}).status == 204
    shell_block("faults", page_pool)
    assert account.login(*ADA).status == 429 and account.login(*ADA).status == 200
    given, _, nonce = shell_block("sign-in", page_pool).rpartition("\n")
    given = json.loads(given)
    body = {"identity_token": given["identity_token"], "authorization_code": given["authorization_code"], "nonce": nonce}
    answer = Account(gateway.port, ledger, "/api/auth").post("apple", body)
    assert answer.status == 200 and answer.json()["user"]["email"] == "ada@icloud.example", answer.body


# ---- Tables and defaults


def page_settings(page: str, key: str) -> dict:
    """The first YAML block of a page that has a top-level key."""
    for block in documentation.blocks(page):
        if block.language == "yaml" and (found := yaml.safe_load(block.text)) and key in found:
            return found[key]
    raise LookupError(key)


def test_the_limits_are_the_defaults():
    defaults = yaml.safe_load((REPOSITORY / "Config/gatehouse.yaml").read_text())["account_limits"]
    assert page_settings("accounts.md", "account_limits") == {name: each for name, each in defaults.items() if name != "keys"}


def test_the_writable_attributes_are_the_default():
    default = yaml.safe_load((REPOSITORY / "Config/gatehouse.yaml").read_text())["sign_in"]["cognito"]["writable_attributes"]
    text = documentation.prose("accounts.md")
    sentence = re.search(r"The default is (.*?)\. These", text, re.DOTALL)[1]
    assert re.findall(r"`(\w+)`", sentence) == default


def test_the_lifetimes_of_sessions_are_the_defaults():
    text = (REPOSITORY / "Config/gatehouse.yaml").read_text()
    values = page_settings("sessions.md", "sign_in")["apple"]["session"]
    assert len(values) == 6
    for name, value in values.items():
        if name != "issuer":
            assert re.search(rf"(?m)^ *# +{name}: {value}(?= )", text), name


def test_the_translated_operations_are_those_of_the_program():
    source = (REPOSITORY / "Sources/Cognito/DirectCalls/ClientOperation.swift").read_text()
    proofs: dict[str, set[str]] = {}
    for operation, proof in re.findall(r'^        "(\w+)": \.(\w+),$', source, re.MULTILINE):
        proofs.setdefault("steps" if proof in ("authParameters", "challengeResponses") else proof, set()).add(operation)
    page = documentation.prose("moving-apps.md")
    table = page[page.index("| operations | proof |") :].partition("\n\n")[0].splitlines()[2:]
    rows = [set(re.findall(r"`(\w+)`", line.split("|")[1])) for line in table]
    assert sorted(map(sorted, rows)) == sorted(map(sorted, proofs.values()))


def test_a_direct_call_gets_the_response_of_the_page(start_gateway, pool):
    gateway = start_gateway(pool=pool)
    target = {"X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth"}
    answer = raw.exchange(gateway.port, "POST", "/", target, b"{}")
    (shown,) = [block.text for block in documentation.blocks("moving-apps.md") if block.language == "http"]
    head, _, body = shown.partition("\n\n")
    status, *fields = head.splitlines()
    assert int(status.split()[1]) == answer.status and json.loads(body) == answer.json()
    for line in fields:
        name, _, value = line.partition(": ")
        assert answer.header(name) == value, name
