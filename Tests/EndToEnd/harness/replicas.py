"""Several real gateways from one configuration, whose state is in one PostgreSQL, and what apps and operators do at them."""

import base64
import itertools
import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from . import raw
from .account import Account, Ledger, bearer
from .apple_app import AppleApp, apple_settings
from .assertions import ISSUER as ASSERTION_ISSUER
from .assertions import JWKS_PATH
from .backend import RecordingBackend
from .gateway import ADA, Gateway, gateway_config, merged
from .hosted import hosted_pool, hosted_settings
from .lifeline import is_stopped
from .local_apple import LocalApple
from .pool_users import add_user
from .postgres import DATABASE, PASSWORD, USER, Cluster
from .process import SILENT_PORT, wait_until
from .tcp_proxy import TcpProxy

ADMIN_TOKEN = "an-admin-token-of-some-length"
SEALING_KEY = base64.b64encode(bytes(range(32))).decode()
REQUIRED = "/recorded/required/a"
_numbers = itertools.count(1)


def postgres_state(ports: list[int], password: Path, **more) -> dict:
    """The setting `state` for servers on ports of loopback."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    settings = {
        "url": f"postgresql://{USER}@{hosts}/{DATABASE}",
        "password": f"file:{password}",
        "sealing_keys": [f"1:{SEALING_KEY}"],
    }
    return {"postgres": merged(settings, more)}


@dataclass
class Surroundings:
    """The shared servers around all gateways: Cognito and Apple in one process, a backend, an issuer, and the secrets.

    Browsers reach the gateways through `front`, which leads to the one that a test chooses.
    """

    apple: LocalApple
    front: TcpProxy
    backend_url: str
    jwks_url: str
    ledger: Ledger


class Replica(Gateway):
    """One of several gateways: its calls by apps and by operators."""

    def __init__(self, directory: Path, name: str, config: dict, surroundings: Surroundings, **more):
        self.surroundings = surroundings
        super().__init__(directory, name, config, **more)

    @property
    def account(self) -> Account:
        return Account(self.port, self.surroundings.ledger)

    @property
    def apple_app(self) -> AppleApp:
        return AppleApp(self.port, self.surroundings.apple, self.surroundings.ledger)

    def sign_in(self, user: tuple[str, str] = ADA) -> dict:
        """The tokens of a new session at Cognito."""
        answer = self.account.login(*user)
        assert answer.status == 200, answer.body
        return answer.json()

    def proxied(self, token: str) -> int:
        """The status of a request to the backend."""
        return raw.exchange(self.port, "GET", REQUIRED, bearer(token)).status

    def admin_call(self, method: str, path: str, body: object = None) -> raw.Response:
        data = None if method == "GET" else b"" if body is None else json.dumps(body).encode()
        headers = {"Host": "localhost", **bearer(ADMIN_TOKEN)}
        return raw.exchange(self.admin_port, method, path, headers, data)

    def admin(self, path: str) -> tuple[int, str]:
        """Status and text of an admin page; status 0 when there is no answer."""
        try:
            answer = self.admin_call("GET", path)
        except (OSError, raw.ConnectionClosed):
            return 0, ""
        return answer.status, answer.body.decode()

    def status(self) -> dict:
        answer = self.admin_call("GET", "/status")
        assert answer.status == 200, answer.body
        return answer.json()

    def key_set(self) -> dict:
        """The keys that it publishes, by their ids."""
        answer = raw.exchange(self.port, "GET", JWKS_PATH)
        assert answer.status == 200, answer.body
        return {key["kid"]: key for key in answer.json()["keys"]}

    def kill(self) -> None:
        self.process.signal(signal.SIGKILL)
        self.process.wait(10)

    def freeze(self) -> None:
        """Nothing that happens after it is seen by the gateway before it is thawed."""
        self.process.signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(self.process.pid), "the gateway to stop")

    def thaw(self) -> None:
        self.process.signal(signal.SIGCONT)

    def stop(self) -> int:
        if self.process.exit_status is None:
            self.thaw()
        # A request in flight may wait for another gateway's lease, as long as a client waits.
        return self.process.stop(15)


class Replicas:
    """`count` gateways, each with listeners and a state directory of its own.

    `state` is their setting of that name. `environments` are for the first ones.
    """

    def __init__(
        self,
        directory: Path,
        state: dict,
        surroundings: Surroundings,
        count: int = 3,
        changes: dict | None = None,
        environments: list[dict[str, str]] | None = None,
    ):
        directory.mkdir(parents=True)
        self.directory, self.surroundings = directory, surroundings
        self._environments = [*(environments or []), *[{}] * count][:count]
        common = {
            **apple_settings(surroundings.apple),
            "admin": {"token": ADMIN_TOKEN},
            "identity": {"assertion": {"issuer": ASSERTION_ISSUER}},
            "threads": 1,
        }
        hosted = hosted_settings(surroundings.apple, surroundings.front.port)
        common["sign_in"]["cognito"] = surroundings.apple.sign_in_settings("pool", hosted=hosted)
        self.changes = merged(merged(common, {"state": state}), changes or {})
        self._configs = [self._config(f"replica-{number}") for number in range(count)]
        # All at once: that they start beside each other is usual as well.
        with ThreadPoolExecutor(count) as threads:
            started = [threads.submit(self._started, number) for number in range(count)]
        failures = [each.exception() for each in started if each.exception()]
        self.gateways = [each.result() for each in started if not each.exception()]
        if failures:
            self.stop()
            raise failures[0]

    def _config(self, name: str) -> dict:
        its = self.surroundings
        return gateway_config(self.directory / name, its.backend_url, its.jwks_url, None, its.apple, self.changes)

    def _started(self, number: int) -> Replica:
        environment = self._environments[number] or None
        config, name = self._configs[number], f"replica-{number}"
        return Replica(self.directory, name, config, self.surroundings, environment=environment)

    def __getitem__(self, number: int) -> Replica:
        return self.gateways[number]

    def __iter__(self):
        return iter(self.gateways)

    def __len__(self) -> int:
        return len(self.gateways)

    @property
    def ports(self) -> list[int]:
        return [gateway.port for gateway in self]

    def start(self, number: int) -> Replica:
        """Starts one again that has ended, with the same ports and state directory."""
        assert self[number].process.exit_status is not None
        self[number].process.stop()
        self.gateways[number] = self._started(number)
        return self[number]

    def restart(self, number: int) -> Replica:
        assert self[number].stop() == 0
        return self.start(number)

    def user(self, **columns: object) -> tuple[str, str]:
        """A new user of the pool: address and password. `columns` are those of the pool's table."""
        email = f"replica-user-{next(_numbers)}@example.com"
        add_user(self.surroundings.apple, email, ADA[0], **columns)
        return email, ADA[1]

    def everywhere(self, call: Callable[[Replica], object]) -> list:
        return [call(gateway) for gateway in self]

    def wait_everywhere(self, call: Callable[[Replica], object], expected: object, what: str, seconds: float = 10) -> None:
        """Returns when a call has this result at every gateway."""
        wait_until(lambda: all(result == expected for result in self.everywhere(call)), what, seconds)

    def stop(self) -> None:
        for gateway in self.gateways:
            gateway.stop()


# Fixtures


@pytest.fixture(scope="session")
def replica_surroundings(run_directory: Path, shared_recorder: RecordingBackend, issuer, ledger: Ledger):
    ledger.note(ADMIN_TOKEN, PASSWORD, SEALING_KEY)
    front = TcpProxy(SILENT_PORT)
    apple = LocalApple(run_directory, "replicas-apple", hosted_pool(front.port))
    yield Surroundings(apple, front, shared_recorder.url, issuer.server.url, ledger)
    apple.stop()
    front.stop()


@pytest.fixture(scope="session")
def postgres_password(run_directory: Path) -> Path:
    path = run_directory / "postgres-password"
    path.write_text(PASSWORD + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def cluster(run_directory: Path, request: pytest.FixtureRequest):
    """A primary with a synchronous standby, for the tests of a module that leave them as they are."""
    cluster = Cluster(run_directory / f"{request.module.__name__}-servers")
    yield cluster
    cluster.stop()


@pytest.fixture
def own_cluster(run_directory: Path, request: pytest.FixtureRequest):
    """As `cluster`, for a test that changes or ends them."""
    cluster = Cluster(run_directory / f"{name_of(request)}-servers")
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def replicas(run_directory: Path, request: pytest.FixtureRequest, cluster: Cluster, replica_surroundings, postgres_password):
    """Three gateways for the tests of a module that leave them as they are."""
    state = postgres_state(cluster.ports, postgres_password)
    replicas = Replicas(run_directory / f"{request.module.__name__}-replicas", state, replica_surroundings)
    yield replicas
    replicas.stop()


@pytest.fixture
def start_replicas(run_directory: Path, request: pytest.FixtureRequest, replica_surroundings, postgres_password):
    """Starts gateways of the test's own: `start_replicas(ports, …)` with the ports that lead to its servers."""
    started: list[Replicas] = []

    def start(ports: list[int], state: dict | None = None, **more) -> Replicas:
        directory = run_directory / f"{name_of(request)}-replicas-{len(started)}"
        settings = postgres_state(ports, postgres_password, **(state or {}))
        started.append(Replicas(directory, settings, replica_surroundings, **more))
        return started[-1]

    yield start
    for each in started:
        each.stop()


def name_of(request: pytest.FixtureRequest) -> str:
    """A name of the test's own, also where the first part of it is another one's."""
    name = "".join(character if character.isalnum() else "-" for character in request.node.name)[:60]
    return f"{name}-{next(_numbers)}"
