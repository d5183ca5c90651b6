"""Servers and directories of the tests end with the process of the tests, also where that is killed."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from harness.postgres import PostgresServer
from harness.process import wait_until

SCRIPT = """
import json, sys
from pathlib import Path
from harness.postgres import PostgresServer
from harness.process import Process
servers = [PostgresServer(Path(sys.argv[1]), name) for name in ("running", "frozen")]
for server in servers:
    server.start()
servers[1].freeze()
plain = Process(["sleep", "600"], Path(sys.argv[1]) / "sleep.log")
pids = [each.process.pid for each in servers] + [plain.pid]
print(json.dumps({"pids": pids, "directories": [str(each.directory) for each in servers]}), flush=True)
sys.stdin.readline()
"""


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody has waited for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_kill_of_the_tests_leaves_neither_servers_nor_directories(tmp_path):
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    tests = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parent)
    made = json.loads(tests.stdout.readline())
    directories = [Path(each) for each in made["directories"]]
    assert all(is_running(pid) for pid in made["pids"]) and all(each.exists() for each in directories)
    tests.send_signal(signal.SIGKILL)
    tests.communicate(timeout=60)
    wait_until(lambda: not any(is_running(pid) for pid in made["pids"]), "the end of all processes")
    wait_until(lambda: not any(each.exists() for each in directories), "the directories to be removed")


def test_a_server_that_is_removed_takes_its_directory_along(tmp_path):
    server = PostgresServer(tmp_path, "server")
    server.start()
    assert server.value("SELECT current_user") == "postgres"
    server.remove()
    assert not is_running(server.process.pid) and not server.directory.exists()
