"""deploy/quickstart.sh: the progress of its build, and the whole of it with a binary that is there."""

import os
import pty
import re
import subprocess

import pytest
from harness.gateway import REPOSITORY, binary
from harness.process import free_port
from harness.sanitizer import PATIENCE

REQUIREMENTS = REPOSITORY / "deploy" / "requirements.sh"
# A build that stops at its steps until somebody writes to the pipe: "[n/517] Compiling …", as SwiftPM prints it. Whoever wrote
# for the step before may still have the pipe open, and then ends it without a line.
BUILD = """
build() {
    printf 'Fetching\\n'; until read -r <"$pipe"; do :; done
    printf '[1/517] Compiling a\\n[231/517] Compiling b\\n'; until read -r <"$pipe"; do :; done
    return "$1"
}
"""


def started(tmp_path, status: int, stdout) -> subprocess.Popen:
    os.mkfifo(tmp_path / "pipe")
    script = f'. "{REQUIREMENTS}"\n{BUILD}\nprogress_seconds=0.05\nwith_progress "$log" build {status} || echo "failed: $?"\necho end\n'
    environment = {**os.environ, "log": str(tmp_path / "log"), "pipe": str(tmp_path / "pipe")}
    return subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], stdout=stdout, env=environment)


def go_on(tmp_path) -> None:
    (tmp_path / "pipe").write_text("go\n")


@pytest.mark.parametrize("status", [0, 3])
def test_elsewhere_than_on_a_terminal_the_build_shows_its_progress_in_lines(tmp_path, status):
    process = started(tmp_path, status, subprocess.PIPE)
    assert re.fullmatch(rb"  preparing 0:\d\d\n", process.stdout.readline())
    go_on(tmp_path)
    line = b""
    while b"517]" not in line:
        line = process.stdout.readline()
        assert line, "ended without a step"
    assert re.fullmatch(rb"  \[231/517\] 0:\d\d\n", line)
    go_on(tmp_path)
    rest = process.stdout.read().decode().splitlines()
    assert rest[-1] == "end" and ("failed: 3" in rest) == (status == 3)
    assert process.wait(10 * PATIENCE) == 0
    assert (tmp_path / "log").read_text().splitlines()[-1] == "[231/517] Compiling b"


def test_on_a_terminal_the_progress_is_one_line_that_moves(tmp_path):
    master, slave = pty.openpty()
    process = started(tmp_path, 0, slave)
    os.close(slave)
    shown = b""

    def read_until(text: bytes) -> None:
        nonlocal shown
        while text not in shown:
            shown += os.read(master, 4096)

    read_until(b"preparing")
    go_on(tmp_path)
    read_until(b"[231/517]")
    assert b"\n" not in shown and shown.count(b"\r\x1b[K") >= 2
    go_on(tmp_path)
    read_until(b"end")
    assert process.wait(10 * PATIENCE) == 0
    os.close(master)


@pytest.mark.timeout(300)
def test_the_quickstart_runs_with_a_binary_that_is_there(run_directory):
    names = ("GATEHOUSE_PORT", "GATEHOUSE_ADMIN_PORT", "GATEHOUSE_BACKEND_PORT", "GATEHOUSE_POOL_PORT")
    ports = {name: str(free_port()) for name in names}
    state = run_directory / "quickstart"
    # A relative path is one of the directory that it is called in.
    environment = {**os.environ, **ports, "GATEHOUSE_BINARY": str(binary()), "GATEHOUSE_STATE": state.name}
    result = subprocess.run(
        [str(REPOSITORY / "deploy/quickstart.sh"), "--once"], capture_output=True, text=True, timeout=240 * PATIENCE,
        env=environment, stdin=subprocess.DEVNULL, cwd=run_directory,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert (state / "gateway.log").exists()
    assert "building" not in result.stdout and result.stdout.rstrip().endswith("Every step showed what it should.")
    assert not (state / "build.log").exists()
    # swift test builds the sample app.
    is_built = (REPOSITORY / ".build/debug/client-sample").exists()
    assert ("left out" in result.stdout) == (not is_built)


@pytest.mark.parametrize("directory", ["", "{}/"], ids=["relative", "absolute"])
def test_a_binary_that_is_not_there_is_told(directory, tmp_path):
    named = directory.format(tmp_path) + "none"
    environment = {**os.environ, "GATEHOUSE_BINARY": named, "GATEHOUSE_PORT": str(free_port())}
    environment |= {name: str(free_port()) for name in ("GATEHOUSE_ADMIN_PORT", "GATEHOUSE_BACKEND_PORT", "GATEHOUSE_POOL_PORT")}
    result = subprocess.run(
        [str(REPOSITORY / "deploy/quickstart.sh"), "--once"], capture_output=True, text=True, timeout=60 * PATIENCE,
        env=environment, stdin=subprocess.DEVNULL, cwd=tmp_path,
    )
    assert result.returncode == 1 and f"GATEHOUSE_BINARY is no program: {tmp_path}/none" in result.stderr
