"""Fixtures: the release binary, LocalPool, uvicorn with the example backend, a recording backend, an issuer."""

import functools
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from harness import raw
from harness.account import Account, Ledger
from harness.backend import RecordingBackend
from harness.dashboard import browser, functions, open_page  # noqa: F401 (fixtures)
from harness.deployment import deployed  # noqa: F401 (a fixture)
from harness.gateway import REPOSITORY, Gateway, LocalPool, gateway_config
from harness.keys import Issuer
from harness.process import Process, free_port, share_ports
from harness.replicas import (  # noqa: F401 (fixtures)
    cluster, own_cluster, postgres_password, replica_surroundings, replicas, start_replicas,
)
from harness.sanitizer import PATIENCE, SANITIZER, reports

RUNS_KEPT = 5 * 3

LAST = "test_secrets.py"
# Where peers fail, are slow or vanish: all their tests have the mark `no_stalls`.
FAULTS = {
    f"test_{name}.py"
    for name in (
        "backends", "disconnects", "early_responses", "hostile", "incomplete_requests", "issuers", "name_resolution",
        "slow_backends", "trusted_certificates", "unread_responses", "unreliable_peers", "upstream",
    )
}
# The rough duration of the longest files in seconds, so that the parts take equally long; the others take five.
SECONDS = {
    "test_acme.py": 168, "test_release.py": 113, "test_openapi.py": 96, "test_hostile_answers.py": 78,
    "test_replicas_database.py": 76, "test_unread_responses.py": 72, "test_cognito_clients.py": 57,
    "test_external_authorization.py": 52, "test_client_library.py": 51, "test_client_package.py": 48,
    "test_name_resolution.py": 48, "test_websocket.py": 47, "test_shared_keys.py": 46,
    "test_account_privacy.py": 45, "test_hostile.py": 45, "test_command_line.py": 44, "test_dashboard.py": 44,
    "test_deploy_replicas.py": 44, "test_clock.py": 43, "test_deploy_containers.py": 41, "test_fair_shares.py": 41,
    "test_followed_files.py": 41, "test_refresh.py": 40, "test_passwordless_privacy.py": 37, "test_tracing.py": 36,
    "test_challenges.py": 33, "test_account_names.py": 31, "test_backends.py": 31, "test_apple.py": 30,
    "test_clock_steps.py": 30, "test_reload.py": 30, "test_replicas.py": 30, "test_documentation_client.py": 28,
    "test_new_password_kill.py": 28, "test_concealed_users.py": 27, "test_examples.py": 26,
    "test_unreliable_peers.py": 26, "test_http2.py": 25, "test_locks.py": 25, "test_conduct.py": 24,
    "test_quickstart.py": 23, "test_real_backends.py": 23, "test_repository.py": 22, "test_documentation.py": 21,
    "test_fastapi.py": 21, "test_corpus.py": 20, "test_tls.py": 20, "test_replicas_chaos.py": 19,
    "test_admin_users.py": 18, "test_dependencies.py": 18, "test_restore.py": 18, "test_token_privacy.py": 18,
    "test_otlp_metrics.py": 17, "test_replicas_races.py": 17, "test_logs.py": 16, "test_reload_files.py": 16,
    "test_schema.py": 16, "test_slow_backends.py": 16, "test_account_takeover.py": 15, "test_admin.py": 15,
    "test_secrets.py": 15, "test_admin_tls.py": 14, "test_metrics.py": 14, "test_sessions.py": 14,
    "test_careless_clients.py": 13, "test_corpus_h2.py": 13, "test_backend_rest.py": 12, "test_translate.py": 12,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests that take minutes")
    parser.addoption(
        "--part", help="1/2: the first half of the files; alone: those that want the machine for themselves; default: all"
    )


def pytest_configure(config: pytest.Config) -> None:
    part, _, of = (config.getoption("--part") or "").partition("/")
    if of:
        share_ports(int(part) - 1, int(of))


@functools.cache
def files_of(part: str) -> set[str]:
    """The files with tests of a part, and the search of the logs, which looks at those of its own process."""
    files = {path.name: path for path in Path(__file__).parent.glob("test_*.py")}
    number, _, of = part.partition("/")
    if not of:
        return {name for name, path in files.items() if "mark.alone" in path.read_text()} | {LAST}
    shares: list[list[str]] = [[] for _ in range(int(of))]
    for name in sorted(files.keys() - {LAST}, key=lambda name: (-SECONDS.get(name, 5), name)):
        min(shares, key=lambda share: sum(SECONDS.get(each, 5) for each in share)).append(name)
    return {*shares[int(number) - 1], LAST}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Reading all files takes longer than many of them do."""
    part = config.getoption("--part")
    if part and collection_path.suffix == ".py" and collection_path.name not in files_of(part):
        return True
    return None


def choose(items: list[pytest.Item], part: str) -> list[pytest.Item]:
    """Those of a part. Files that are named on the command line are read whatever their part."""
    wants_alone = "/" not in part
    last = [item for item in items if item.path.name == LAST]
    chosen = [
        item
        for item in items
        if item.path.name in files_of(part) - {LAST} and bool(item.get_closest_marker("alone")) == wants_alone
    ]
    return chosen + last if chosen or len(last) == len(items) else []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in FAULTS:
            item.add_marker("no_stalls")
    if not config.getoption("--long"):
        skip = pytest.mark.skip(reason="long: needs --long")
        for item in items:
            if "long" in item.keywords:
                item.add_marker(skip)
    if PATIENCE > 1:
        for item in items:
            limit = item.get_closest_marker("timeout")
            seconds = limit.args[0] if limit else int(config.getini("timeout"))
            item.add_marker(pytest.mark.timeout(seconds * PATIENCE), append=False)
    # The search of the logs comes when all other tests have written theirs.
    items.sort(key=lambda item: item.path.name == LAST)
    if part := config.getoption("--part"):
        chosen = choose(items, part)
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


@pytest.fixture(autouse=True)
def sanitizer_is_silent():
    """A report that a process has written while a test ran fails that test."""
    before = reports()
    yield
    new = [report for report in reports() if report not in before]
    assert not new, "\n".join(report.read_text(errors="replace")[:20_000] for report in new)


@pytest.fixture(autouse=True)
def event_loops_do_not_stall(request: pytest.FixtureRequest):
    """No event loop of the shared gateway is kept from its connections while a test with the mark `no_stalls` runs.

    Gateways of the test's own are looked at by `start_gateway` when it ends them.
    """
    if not request.node.get_closest_marker("no_stalls") or "gateway" not in request.fixturenames:
        yield
        return
    gateway = request.getfixturevalue("gateway")
    count, seconds = stalls_of(gateway)
    stolen = stolen_seconds()
    yield
    after = stalls_of(gateway)
    judge(request, {gateway: (after[0] - count, after[1] - seconds)}, stolen)


def stalls_of(gateway: Gateway) -> tuple[float, float]:
    """How many there were, and how many seconds they took together."""
    samples = gateway.samples()
    names = ("gatehouse_event_loop_stalls_total", "gatehouse_event_loop_stalled_seconds_total")
    return samples[names[0]], samples[names[1]]


def stolen_seconds() -> float:
    """For how long the machine's host has kept processors from it that it wanted, since its start (proc_stat(5))."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(words[8]) / os.sysconf("SC_CLK_TCK")


def judge(request: pytest.FixtureRequest, stalls: dict[Gateway, tuple[float, float]], stolen: float) -> None:
    """A machine that is shared takes its processors away now and then, and no process hears of that: one short stall
    passes, and what the host took since it had taken `stolen` seconds, except with --long. Sanitizers make everything so
    slow that a stall says nothing.
    """
    taken = stolen_seconds() - stolen
    most = (0, 0) if request.config.getoption("--long") else (1 + taken / 0.05, 0.15 + taken)
    stalled = {gateway.config_path: each for gateway, each in stalls.items() if each[0] > most[0] or each[1] > most[1]}
    assert SANITIZER or not stalled, f"event loops stalled for more than 50 ms, so often and so long: {stalled}, {most}"


@pytest.fixture(scope="session")
def run_directory(request: pytest.FixtureRequest) -> Path:
    """Configurations, state and logs of this run; the last few runs are kept."""
    runs = REPOSITORY / ".build" / "end-to-end"
    runs.mkdir(parents=True, exist_ok=True)
    for old in sorted(path for path in runs.iterdir() if path.is_dir())[: -(RUNS_KEPT - 1)]:
        shutil.rmtree(old, ignore_errors=True)
    part = (request.config.getoption("--part") or "all").partition("/")[0]
    # With the process: two runs that begin in the same second have pools and gateways of their own.
    directory = runs / f"{time.strftime('%Y%m%d-%H%M%S')}-{part}-{os.getpid()}"
    directory.mkdir()
    return directory


@pytest.fixture(scope="session")
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture(scope="session")
def issuer():
    issuer = Issuer()
    yield issuer
    issuer.server.stop()


@pytest.fixture(scope="session")
def pool(run_directory: Path):
    pool = LocalPool(run_directory)
    yield pool
    pool.stop()


@pytest.fixture(scope="session")
def example(run_directory: Path):
    """uvicorn with the example backend; its URL."""
    port = free_port()
    process = Process(
        [sys.executable, "-m", "uvicorn", "app:app", "--host", "127.0.0.1", "--port", str(port)],
        run_directory / "example-backend.log",
        cwd=REPOSITORY / "deploy" / "example-backend",
    )

    def ready() -> bool:
        try:
            return raw.exchange(port, "GET", "/public/hello").status == 200
        except OSError:
            return False

    process.wait_ready(ready, "the example backend")
    yield f"http://127.0.0.1:{port}"
    process.stop()


@pytest.fixture(scope="session")
def shared_recorder():
    backend = RecordingBackend()
    yield backend
    backend.stop()


@pytest.fixture
def recorder(shared_recorder: RecordingBackend) -> RecordingBackend:
    """The recording backend behind the shared gateway, with nothing recorded yet and nothing scripted."""
    shared_recorder.forget()
    return shared_recorder


@pytest.fixture(scope="session")
def gateway(run_directory: Path, shared_recorder, issuer, example, pool):
    """The gateway most tests share. A test that wants other settings starts its own with `start_gateway`."""
    directory = run_directory / "gateway"
    directory.mkdir()
    gateway = Gateway(
        directory, "gateway", gateway_config(directory, shared_recorder.url, issuer.server.url, example, pool)
    )
    yield gateway
    gateway.stop()


@pytest.fixture
def own_recorder():
    """A recording backend of the test's own."""
    backend = RecordingBackend()
    yield backend
    backend.stop()


@pytest.fixture
def receiver():
    """A recording backend of the test's own, for messages that the gateway sends by itself."""
    backend = RecordingBackend()
    yield backend
    backend.stop()


@pytest.fixture
def start_gateway(run_directory: Path, request: pytest.FixtureRequest, own_recorder, issuer):
    """Starts a gateway of the test's own: `start_gateway(changes={…}, example_url=…, pool=…)`.

    `within` is a command that ends by executing the one behind it, such as a namespace.
    """
    started: list[Gateway] = []
    stolen = stolen_seconds()
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)[:80]

    def start(
        changes: dict | None = None, example_url=None, pool=None, jwks_url=None, environment=None, within=None
    ) -> Gateway:
        directory = run_directory / f"{name}-{len(started)}"
        directory.mkdir(exist_ok=True)
        config = gateway_config(
            directory, own_recorder.url, jwks_url or issuer.server.url, example_url, pool, changes
        )
        started.append(Gateway(directory, "gateway", config, environment, within))
        return started[-1]

    yield start
    judged = started if request.node.get_closest_marker("no_stalls") else []
    # Some have been stopped, or killed, by their test.
    stalls = {gateway: stalls_of(gateway) for gateway in judged if gateway.process.exit_status is None}
    for gateway in started:
        gateway.stop()
    judge(request, stalls, stolen)


@pytest.fixture
def account(gateway: Gateway, ledger: Ledger) -> Account:
    return Account(gateway.port, ledger)
