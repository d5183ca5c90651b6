"""The real binary: `gatehouse serve` and `gatehouse local-pool` with the configuration a test wants."""

import copy
import json
import os
import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from .keys import CLIENT_ID, ISSUER
from .process import SILENT_PORT, Process, accepts_connections, free_port, wait_until
from .sanitizer import PATIENCE

REPOSITORY = Path(__file__).resolve().parents[3]

POOL_ID = "eu-central-1_LocalPool"
POOL_CLIENT_ID = "7local0pool0client00000000"
POOL_CLIENT_SECRET = "1locaL0secReT0forthetests0a2b4c6d8e0f1g3h5j7k9m1n3"
ADA = ("ada@example.com", "Correct-Horse-7-Battery")
# Costs of a password at LocalPool: the least, for a few milliseconds, and the usual one.
QUICK, USUAL = 10, 15
BUDGETS = ("sign_in", "codes", "messages", "refresh", "account")
GRACE_UNCONFIRMED = ("grace@example.com", "Unconfirmed-Horse-8")


def binary() -> Path:
    """The release binary; `GATEHOUSE_BINARY` names another one."""
    path = Path(os.environ.get("GATEHOUSE_BINARY") or REPOSITORY / ".build" / "release" / "gatehouse")
    assert path.exists(), f"{path} is not there: build it with `deploy/build.sh`"
    return path


def merged(base: dict, changes: dict) -> dict:
    """`base` with `changes` laid over it, key by key; a value of `...` removes the key."""
    result = copy.deepcopy(base)
    for name, value in changes.items():
        if value is ...:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], value)
        else:
            result[name] = copy.deepcopy(value)
    return result


class Served:
    """A started `gatehouse` process with its configuration file and log."""

    def __init__(
        self,
        directory: Path,
        name: str,
        command: str,
        config: dict,
        environment: dict[str, str] | None = None,
        within: list[str] | None = None,
    ):
        """`within` is a command that ends by executing the one behind it: a namespace."""
        directory.mkdir(parents=True, exist_ok=True)
        self.config = config
        # JSON is YAML; written out, a failed test's configuration can be looked at and run again.
        self.config_path = directory / f"{name}.yaml"
        self.config_path.write_text(json.dumps(config, indent=2) + "\n")
        self.process = Process(
            [*(within or []), str(binary()), command, "--config", str(self.config_path)],
            directory / f"{name}.log",
            environment,
        )

    def log(self) -> str:
        return self.process.log()

    def stop(self) -> int:
        return self.process.stop()


class Gateway(Served):
    """`gatehouse serve`, ready to take requests."""

    def __init__(
        self,
        directory: Path,
        name: str,
        config: dict,
        environment: dict[str, str] | None = None,
        within: list[str] | None = None,
    ):
        super().__init__(directory, name, "serve", config, environment, within)
        self.port = int(config["listeners"][0]["address"].rsplit(":", 1)[1])
        self.admin_port = int(config["admin"]["address"].rsplit(":", 1)[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.process.wait_ready(
            lambda: self.admin("/healthz")[0] == 200 and accepts_connections(self.port), f"gatehouse serve ({name})"
        )

    def wait_until_ready(self) -> None:
        """A gateway serves before it has the key sets that it needs, those that it keeps on disk too."""
        wait_until(lambda: self.admin("/readyz")[0] == 200, "the gateway to be ready")

    def admin(self, path: str) -> tuple[int, str]:
        """Status and text of an admin page; status 0 when there is no answer."""
        # Who is asked is known here without its certificate.
        scheme, context = ("https", ssl._create_unverified_context()) if self.config["admin"].get("tls") else ("http", None)
        try:
            url = f"{scheme}://127.0.0.1:{self.admin_port}{path}"
            with urllib.request.urlopen(url, timeout=5 * PATIENCE, context=context) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def log(self) -> str:
        """Standard output, and what it says of itself: each line as its time, level, message and `name=value`."""
        return self.process.output() + "".join(f"{self._text(line)}\n" for line in self.process.errors().splitlines())

    def _reloads_told(self) -> int:
        return len(re.findall("configuration (?:not )?reloaded", self.process.errors()))

    @staticmethod
    def _text(line: str) -> str:
        # The last line may not be there as a whole yet.
        if not (line.startswith("{") and line.endswith("}")):
            return line
        fields = json.loads(line)
        assert fields.pop("type") == "application"
        begin = [fields.pop(name) for name in ("time", "level", "message")]
        return " ".join([*begin, *(f"{name}={value}" for name, value in fields.items())])

    def access_log(self) -> list[dict]:
        """The access log so far: every line of standard output but the audit log's."""
        return [line for line in self._lines() if "event" not in line]

    def audit_log(self, event: str | None = None) -> list[dict]:
        """The audit log so far, or its lines of one event."""
        lines = [line for line in self._lines() if "event" in line]
        return [line for line in lines if event in (None, line["event"])]

    def _lines(self) -> list[dict]:
        """Every line of standard output. Each must be a JSON object."""
        text = self.process.output()
        lines = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        assert all(isinstance(line, dict) for line in lines)
        return lines

    def access_line(self, request_id: str) -> dict:
        """The access-log line of the request with this id."""
        found = wait_until(
            lambda: [line for line in self.access_log() if line["request_id"] == request_id],
            f"an access-log line for {request_id}",
        )
        assert len(found) == 1, f"{len(found)} access-log lines for {request_id}"
        return found[0]

    def metric(self, name: str) -> float:
        """The sum over all label sets of one metric."""
        status, text = self.admin("/metrics")
        assert status == 200
        values = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
        assert values, f"no metric {name} in:\n{text}"
        return sum(float(value) for value in values)

    def samples(self) -> dict[str, float]:
        """Every sample of the metrics, by its name with labels."""
        _, text = self.admin("/metrics")
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def refused(self, reason: str) -> int:
        """How many connections were not let in for it."""
        return int(self.samples()[f'gatehouse_client_connections_refused_total{{reason="{reason}"}}'])

    def wait_for_nobody(self) -> None:
        """Whoever looked whether the gateway is up was let in, and has gone."""

        def nobody() -> bool:
            samples = self.samples()
            return samples["gatehouse_client_connections_total"] > 0 and samples["gatehouse_client_connections_open"] == 0

        wait_until(nobody, "no connection")

    def write_config(self, changes: dict | None = None) -> None:
        """Lays `changes` over the configuration and writes it to its file, which the process reads at the next SIGHUP."""
        self.config = merged(self.config, changes or {})
        self.config_path.write_text(json.dumps(self.config, indent=2) + "\n")

    def reload(self, changes: dict | None = None, result: str = "success") -> None:
        """Has the process read its changed configuration again, and waits for what came of it."""
        self.write_config(changes)
        counter = f'gatehouse_config_reloads_total{{result="{result}"}}'
        before, lines = self.samples()[counter], self._reloads_told()
        self.process.signal(signal.SIGHUP)
        try:
            wait_until(lambda: self.samples()[counter] == before + 1, f"a reload with {result}")
            # Its lines are written a moment later, unless they go elsewhere or nowhere.
            logging = self.config.get("logging", {})
            if "file" not in logging and logging.get("level", "info") in ("trace", "debug", "info"):
                wait_until(lambda: self._reloads_told() > lines, "the log to tell of the reload")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-2000:]}") from None


def gateway_config(
    directory: Path,
    recorder_url: str,
    jwks_url: str,
    example_url: str | None = None,
    pool: "LocalPool | None" = None,
    changes: dict | None = None,
) -> dict:
    """The configuration most tests run with. Routes under `/recorded` go to the recording backend."""
    issuers = {
        "own": {
            "profile": "cognito",
            "region": "eu-central-1",
            "user_pool_id": "eu-central-1_EXAMPLE01",
            "issuer": ISSUER,
            "jwks_url": jwks_url,
            "allow_insecure_http": True,
            "client_ids": [CLIENT_ID],
            "token_uses": ["access", "id"],
        }
    }
    recorder = {
        "url": recorder_url,
        "paths": "case_sensitive",
        "connect_timeout": "2s",
        "first_byte_timeout": f"{10 * PATIENCE}s",
        "idle_timeout": "30s",
    }
    upstreams = {"recorder": recorder, "down": {"url": f"http://127.0.0.1:{SILENT_PORT}"}}
    routes = [
        {"name": "public", "path": "/recorded/public/**", "access": "public", "upstream": "recorder"},
        {"name": "locked", "path": "/recorded/public/locked", "access": "required", "upstream": "recorder"},
        {"name": "optional", "path": "/recorded/optional/**", "access": "optional", "upstream": "recorder"},
        {"name": "required", "path": "/recorded/required/**", "access": "required", "upstream": "recorder"},
        {
            "name": "access-only",
            "path": "/recorded/access-only/**",
            "access": "required",
            "token_uses": ["access"],
            "upstream": "recorder",
        },
        {
            "name": "forwarding",
            "path": "/recorded/forwarding/**",
            "access": "required",
            "forward_token": True,
            "upstream": "recorder",
        },
        {
            "name": "exact",
            "path": "/recorded/exact",
            "methods": ["GET", "POST"],
            "access": "public",
            "upstream": "recorder",
        },
        {"name": "segment", "path": "/recorded/segment/*/detail", "access": "public", "upstream": "recorder"},
        {"name": "down", "path": "/down/**", "access": "public", "upstream": "down"},
    ]
    config = {
        "listeners": [{"address": f"127.0.0.1:{free_port()}"}],
        "threads": 2,
        "admin": {"address": f"127.0.0.1:{free_port()}"},
        "upstreams": upstreams,
        "issuers": issuers,
        "state_directory": str(directory / "state"),
        "routes": routes,
        "logging": {"level": "info", "access_log": True},
        # All tests call from one address, and many fail to sign in on purpose.
        "account_limits": {
            **{kind: dict.fromkeys(("address", "account", "global"), "unlimited") for kind in BUDGETS},
            "lockout": "off",
        },
    }
    if example_url:
        upstreams["example"] = {"url": example_url}
        routes += [
            {"name": "example-public", "path": "/public/**", "access": "public", "upstream": "example"},
            {"name": "example-api", "path": "/api/v1/**", "access": "required", "upstream": "example"},
            {"name": "example-users", "path": "/users/*", "access": "optional", "upstream": "example"},
        ]
    if pool:
        issuers["pool"] = pool.issuer_settings()
        config["sign_in"] = {"cognito": pool.sign_in_settings("pool")}
    return merged(config, changes or {})


class LocalPool(Served):
    """`gatehouse local-pool` with one confirmed and one unconfirmed user."""

    def __init__(self, directory: Path, name: str = "local-pool", changes: dict | None = None):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = {
            "listen": {"host": "127.0.0.1", "port": self.port},
            "region": "eu-central-1",
            "pool_id": POOL_ID,
            "client": {"id": POOL_CLIENT_ID, "secret": POOL_CLIENT_SECRET},
            "database": str(directory / f"{name}.sqlite"),
            # Many tests fail to sign in on purpose.
            "lockout": False,
            # And many sign in that are not about how long it takes.
            "password_cost": QUICK,
            "users": [
                {"email": ADA[0], "password": ADA[1], "confirmed": True, "groups": ["beta"]},
                {"email": GRACE_UNCONFIRMED[0], "password": GRACE_UNCONFIRMED[1], "confirmed": False},
            ],
        }
        super().__init__(directory, name, "local-pool", merged(config, changes or {}))
        self.process.wait_ready(self._is_healthy, "gatehouse local-pool")

    def _is_healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_local/health", timeout=5 * PATIENCE) as answer:
                return answer.status == 200
        except OSError:
            return False

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/{POOL_ID}/.well-known/jwks.json"

    def issuer_settings(self) -> dict:
        return {
            "profile": "cognito",
            "region": "eu-central-1",
            "user_pool_id": POOL_ID,
            "issuer": f"{self.url}/{POOL_ID}",
            "jwks_url": self.jwks_url,
            "allow_insecure_http": True,
            "client_ids": [POOL_CLIENT_ID],
            "token_uses": ["access", "id"],
        }

    def sign_in_settings(self, issuer: str, **changes) -> dict:
        settings = {
            "issuer": issuer,
            "client_id": POOL_CLIENT_ID,
            "client_secret": POOL_CLIENT_SECRET,
            "endpoint": self.url,
            "allow_insecure_http": True,
        }
        return merged(settings, changes)

    def confirmation_code(self, email: str) -> str:
        """The newest code the pool has "mailed" to this address, from its inbox."""

        def find():
            query = urllib.parse.urlencode({"email": email})
            with urllib.request.urlopen(f"{self.url}/_local/inbox?{query}", timeout=5 * PATIENCE) as answer:
                return [message["code"] for message in json.loads(answer.read())]

        return wait_until(find, f"a message to {email}")[-1]


def check(config_path: Path, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """`gatehouse check --config`, with its output."""
    return run("check", config_path, environment)


def gatehouse(*arguments: str | Path) -> subprocess.CompletedProcess:
    """A command of the binary, with its output."""
    return subprocess.run(
        [str(binary()), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30 * PATIENCE,
    )


def run(
    command: str, config_path: Path, environment: dict[str, str] | None = None, *options: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(binary()), command, "--config", str(config_path), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30 * PATIENCE,
        env={**os.environ, **(environment or {})},
    )
