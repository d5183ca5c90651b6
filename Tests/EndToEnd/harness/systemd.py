"""systemd itself as the first process of namespaces of its own, on a copy of this machine's file system that nobody else
sees: what a unit says is what systemd does with it. Wants root."""

import signal
import subprocess
from pathlib import Path

import pytest

from .gateway import binary
from .process import Process

# A target that is reached with nothing started, and no wish of a unit for what starts with a machine.
_PREPARATION = r"""
set -eu
directory=$1 binary=$2
mount -t tmpfs tmpfs "$directory"
mkdir "$directory/upper" "$directory/work" "$directory/all"
root=$directory/all
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
    mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/systemd" "$root/sys/fs/cgroup/unified"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup/unified"
fi
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
# All that PrivateDevices= makes anew.
mkdir "$root/dev/shm" "$root/dev/pts" "$root/dev/mqueue" "$root/dev/hugepages"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
touch "$root/usr/bin/gatehouse"
mount --bind "$binary" "$root/usr/bin/gatehouse"
printf '[Unit]\nAllowIsolate=yes\n' >"$root/etc/systemd/system/nothing.target"
ln -sfn /dev/null "$root/etc/systemd/system/network-online.target"
ip link set lo up 2>/dev/null || python3 -c \
    "import fcntl,socket,struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sH14s', b'lo', 0x41, b''))"
# The mount of a service's credentials is visible from outside of it, as on a machine.
mount --make-rshared "$root"
"""
_SYSTEMD = r"""
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" \
    /lib/systemd/systemd --system --unit=nothing.target --log-target=console
"""


class Systemd:
    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        mount = directory / "machine"
        mount.mkdir()
        self._root = mount / "all"
        namespaces = ["unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--cgroup", "--propagation", "private"]

        def command(script: str) -> list[str]:
            return [*namespaces, "--fork", "--kill-child", "bash", "-c", script, "sh", str(mount), str(binary())]

        # Not every machine lets root mount things, as in a container without the right to.
        prepared = subprocess.run(command(_PREPARATION), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if prepared.returncode != 0:
            pytest.skip(f"no machine for systemd can be made here: {prepared.stderr.strip()}")
        self._process = Process(command(_PREPARATION + _SYSTEMD), directory / "systemd.log")
        self._process.wait_ready(lambda: self.run("systemctl", "is-active", "nothing.target").returncode == 0, "systemd")

    @property
    def _first(self) -> str:
        pid = self._process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()

    def path(self, name: str) -> Path:
        """A file of its machine, as seen from here."""
        return Path(f"/proc/{self._first}/root") / name.lstrip("/")

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def run(self, *command: str) -> subprocess.CompletedProcess:
        inside = ["nsenter", f"--target={self._first}", "--mount", "--net", "--pid", "--ipc", "--cgroup", "--root", *command]
        return subprocess.run(inside, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)

    def checked(self, *command: str) -> str:
        result = self.run(*command)
        assert result.returncode == 0, f"{command}:\n{result.stdout}{result.stderr}"
        return result.stdout

    def property(self, unit: str, name: str) -> str:
        return self.checked("systemctl", "show", "--property", name, "--value", unit).rstrip("\n")

    def stop(self) -> None:
        # unshare(1) ends by nothing else, and everything inside ends with it.
        self._process.signal(signal.SIGKILL)
        self._process.stop()
