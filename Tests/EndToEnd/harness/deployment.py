"""Runs what deployment files say, without the software they are for: a command in a root of its own that can't be
written to, as a user without rights, in a network of its own where every host name is this machine.

Namespaces and chroot want root; without it the tests that use this are skipped.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from . import sanitizer
from .gateway import REPOSITORY, binary
from .process import Process

DEPLOY = REPOSITORY / "deploy"
CONTAINER_USER = (65532, 65532)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and chroot need root")


def tool(name: str) -> str:
    """A program that Tests/EndToEnd/requirements.txt installs beside Python."""
    return str(Path(sys.executable).with_name(name))


def checked(*command: str | Path) -> str:
    """The output of a command that must succeed."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
    return result.stdout + result.stderr


class Image:
    """The container that a Dockerfile's last stage describes."""

    def __init__(self, path: Path):
        # A line's continuation and comments apart, an instruction is a line.
        text = re.sub(r"\\\n\s*", " ", "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#")))
        stages = re.split(r"(?m)^FROM ", text)
        self.base = stages[-1].split()[0]
        self.instructions: dict[str, list[str]] = {}
        for line in stages[-1].splitlines()[1:]:
            if line.strip():
                name, _, value = line.partition(" ")
                self.instructions.setdefault(name, []).append(value.strip())

    def words(self, name: str) -> list[str]:
        """An instruction in its JSON form, with which no shell comes between."""
        return json.loads(self.instructions.get(name, ["[]"])[-1])

    def command(self, arguments: list[str] | None = None) -> list[str]:
        return self.words("ENTRYPOINT") + (self.words("CMD") if arguments is None else arguments)

    @property
    def user(self) -> tuple[int, int]:
        user, group = self.instructions["USER"][-1].split(":")
        return int(user), int(group)

    @property
    def health_command(self) -> list[str]:
        return json.loads(self.instructions["HEALTHCHECK"][-1].partition("CMD ")[2])


class Network:
    """A network of this test's own, with nothing but its loopback."""

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        up = "import fcntl,socket,struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 0x41, b''))"
        script = f"import time; {up}; print('up', flush=True); time.sleep(3600)"
        self._holder = Process(["unshare", "--net", sys.executable, "-c", script], directory / "network.log")
        self._holder.wait_ready(lambda: "up" in self._holder.output(), "a network namespace")

    def inside(self, command: list[str]) -> list[str]:
        return ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--", *command]

    def request(self, url: str, data: dict | None = None, token: str | None = None) -> tuple[int, str]:
        """Status and text of a request made inside; status 0 without an answer."""
        script = (
            "import json,sys,urllib.request,urllib.error\n"
            "url,data,token=json.loads(sys.argv[1])\n"
            "request=urllib.request.Request(url, data and json.dumps(data).encode(), {'Content-Type': 'application/json'})\n"
            "if token: request.add_header('Authorization', 'Bearer ' + token)\n"
            "try:\n answer=urllib.request.urlopen(request, timeout=10)\n"
            "except urllib.error.HTTPError as error: answer=error\n"
            "except OSError: print(json.dumps([0, ''])); sys.exit()\n"
            "print(json.dumps([answer.status, answer.read().decode()]))"
        )
        command = self.inside([sys.executable, "-c", script, json.dumps([url, data, token])])
        status, text = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout)
        return status, text

    def stop(self) -> None:
        self._holder.stop()


class Root:
    """A file system of its own: this machine's libraries, the binary, the files given, and nothing to write to but
    `/tmp`, `/dev/shm` and the named directories."""

    def __init__(
        self,
        directory: Path,
        files: dict[str, str],
        user: tuple[int, int],
        hosts: tuple[str, ...] = (),
        shared: dict[str, str] | None = None,
        has_volume: bool = True,
    ):
        """`shared` are further files of this machine, by their names in the root. Without a volume the directory of the
        state cannot be written to."""
        self.path = directory / "root"
        self.user = user
        self.state = directory / "state"
        for name in ("usr/lib", "usr/lib64", "usr/bin", "etc/ssl", "proc", "dev", "tmp", "run", "var/lib/gatehouse"):
            (self.path / name).mkdir(parents=True)
        for name in ("lib", "lib64"):
            (self.path / name).symlink_to(f"usr/{name}")
        self.state.mkdir(mode=0o700)
        os.chown(self.state, *user)
        (self.path / "usr/bin/gatehouse").touch()
        every_host = "".join(f"127.0.0.1 {name}\n" for name in ("localhost", *hosts))
        for name, text in {"etc/hosts": every_host, **files}.items():
            target = self.path / name.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        binds = [("/usr/lib", "usr/lib"), ("/usr/lib64", "usr/lib64"), ("/etc/ssl", "etc/ssl"), (binary(), "usr/bin/gatehouse")]
        for name, source in (shared or {}).items():
            (self.path / name.lstrip("/")).touch()
            binds.append((source, name.lstrip("/")))
        # A debug build finds the runtime where the compiler is.
        swift = shutil.which("swift")
        runtime = Path(swift).resolve().parents[1] / "lib" / "swift" if swift else None
        if runtime and runtime.is_dir():
            (self.path / str(runtime).lstrip("/")).mkdir(parents=True, exist_ok=True)
            binds.append((runtime, str(runtime).lstrip("/")))
        root = shlex.quote(str(self.path))
        lines = [f"mount --bind {root} {root}"]
        for source, name in binds:
            target = shlex.quote(f"{self.path}/{name}")
            lines.append(f"mount --bind {shlex.quote(str(source))} {target}")
            # A socket is connected to and not written to.
            lines.append(f"mount -o remount,bind,ro {target}")
        lines += [
            *([f"mount --bind {shlex.quote(str(self.state))} {root}/var/lib/gatehouse"] if has_volume else []),
            f"mount --rbind /dev {root}/dev",
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/dev/shm",
            f"mount --rbind /proc {root}/proc",
            f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
            f"mount -o remount,bind,ro {root}",
            f'exec chroot --userspec={user[0]}:{user[1]} {root} "$@"',
        ]
        self._script = "set -e\n" + "\n".join(lines)

    def inside(self, command: list[str]) -> list[str]:
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", self._script, "sh", *command]


class Deployed:
    """A command of a deployment file that runs in its root and network."""

    def __init__(self, root: Root, network: Network, name: str, command: list[str], environment: dict[str, str]):
        self.root, self.network, self.environment = root, network, environment
        log = root.path.parent / f"{name}.log"
        # Only what the file gives, as a container has it.
        given = environment | sanitizer.options()
        self._clean = ["env", "-i", *(f"{key}={value}" for key, value in given.items())]
        self.process = Process(network.inside([*self._clean, *self._locate(), *root.inside(command)]), log)

    @staticmethod
    def _locate() -> list[str]:
        """env -i takes PATH away from the tools that set the root up as well."""
        return ["env", f"PATH={os.environ['PATH']}"]

    def run(self, command: list[str]) -> subprocess.CompletedProcess:
        """Another command beside it, as `docker exec` has it."""
        inside = self.network.inside([*self._clean, *self._locate(), *self.root.inside(command)])
        return subprocess.run(inside, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def wait_healthy(self, command: list[str]) -> None:
        self.process.wait_ready(lambda: self.run(command).returncode == 0, " ".join(command))

    def end(self, seconds: float) -> int:
        """SIGTERM, as every service manager says it; the exit status."""
        self.process.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def stop(self) -> None:
        self.process.stop()


@pytest.fixture
def deployed(run_directory: Path, request: pytest.FixtureRequest):
    """Starts commands that end with the test; all share one network."""
    directory = run_directory / re.sub(r"\W", "-", request.node.name)[:80]
    network = Network(directory)
    started: list = []

    def start(
        name: str, command, environment: dict[str, str], files: dict[str, str], user, hosts=(), shared=None, has_volume=True
    ) -> Deployed:
        root = Root(directory / name, files, user, hosts, shared, has_volume)
        started.append(Deployed(root, network, name, command, environment))
        return started[-1]

    start.network = network
    start.directory = directory
    start.keep = started.append
    yield start
    for each in reversed(started):
        each.stop()
    network.stop()


class _Tagged(yaml.SafeLoader):
    """CloudFormation's short forms as what they stand for."""


def _tagged(loader, suffix, node):
    value = {
        yaml.ScalarNode: loader.construct_scalar,
        yaml.SequenceNode: loader.construct_sequence,
        yaml.MappingNode: loader.construct_mapping,
    }[type(node)](node)
    return {suffix: value}


_Tagged.add_multi_constructor("!", _tagged)


def cloud_formation(path: Path) -> dict:
    return yaml.load(path.read_text(), _Tagged)


def seconds(duration: str) -> int:
    """`30s` or `5m` as a number."""
    number, unit = re.fullmatch(r"(\d+)(s|m|h)", duration).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]
