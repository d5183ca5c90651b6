"""No lock is taken in the body of an async function: not in the sources, and not in the release binary's code."""

import subprocess
import sys
from pathlib import Path

import pytest
from harness.gateway import REPOSITORY, binary
from harness.sanitizer import SANITIZER

LINT = REPOSITORY / "Tests" / "Lint" / "locks.py"
SCAN = REPOSITORY / "deploy" / "release" / "thread_addresses.py"

# As the outbox had it: a lock before and after an await.
KEEPS_A_THREAD = """
import Synchronization

struct Failure: Error {}
protocol Receiver: Sendable { func send(_ text: String, now: Int64) async throws(Failure) }

struct Slow: Receiver {
    @inline(never) func send(_ text: String, now: Int64) async throws(Failure) {
        await Task.yield()
        if text.utf8.count % 2 == 0 { throw Failure() }
    }
}
protocol Records: Sendable { func remove(_ key: String) async throws; func postpone(_ key: String) async throws }

actor Outbox {
    private nonisolated let counted = Mutex((failures: 0, delivered: 0))
    private nonisolated let receivers = Mutex<[String: any Receiver]>(["a": Slow()])
    let records: any Records
    init(_ r: any Records) { records = r }

    func run(_ n: [String]) async {
        await withTaskGroup(of: Void.self) { tasks in
            for m in n { tasks.addTask { await self.send(m) } }
        }
    }
    private func send(_ message: String) async {
        guard let receiver = receivers.withLock({ $0[message] }) else { return await postpone(message) }
        do throws(Failure) {
            try await receiver.send(message, now: 1)
        } catch {
            counted.withLock { $0.failures += 1 }
            return await postpone(message)
        }
        counted.withLock { $0.delivered += 1 }
        do { try await records.remove(message) } catch { print(error) }
    }
    private func postpone(_ m: String) async { do { try await records.postpone(m) } catch { print(error) } }
}
struct R: Records { func remove(_ key: String) async throws {}; func postpone(_ key: String) async throws {} }
@main struct Main {
    static func main() async { await Outbox(R()).run(CommandLine.arguments) }
}
"""

FAULTY = {
    "mutex": "final class A { let state = Mutex(0) }",
    "lock": "import NIOConcurrencyHelpers\nlet lock = NIOLock()",
    "pthread": "func f() { pthread_mutex_lock(&mutex) }",
    "file-lock": "func f(\n    x: Int\n) async throws(E) -> Int {\n    while flock(x, LOCK_EX) != 0 {}\n    return 0\n}",
    "queue": "func f() async { queue.sync { 1 } }",
    "task": "func f() { Task { semaphore.wait() } }",
    "accessor": "var x: Int { get async { semaphore.wait() } }",
    "child": "func f() { group.addTask { semaphore.wait() } }",
    "closure": "let f = { (x: Int) async -> Int in semaphore.wait() }",
    "function": "let count = Locked<@Sendable () -> Int>({ 1 })",
    "optional function": "let end = Locked<(@Sendable (Int) async throws(E) -> Void)?>(nil)",
    "closure as value": "let count = Locked({ @Sendable in 1 })",
}
SOUND = {
    "wrapper": "func f() async { state.withLock { $0 += 1 } }",
    "awaited": "func f() async throws { try await sync.wait() }",
    "synchronous": "func f() { while flock(x, LOCK_EX) != 0 {} }",
    "inner": "func f() async {\n    func inner() { semaphore.wait() }\n}",
    "struct with a function": "struct Count { var now: () -> Int }\nlet count = Locked(Count(now: { 1 }))",
    "list of functions": "let waiting = Locked<[@Sendable () -> Void]>([])",
    "comment": "// A Mutex.\n/* NIOLock */ let text = \"Mutex\"",
}


def lint(directory: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, LINT, directory], capture_output=True, text=True, timeout=60)


def one_file(directory: Path, text: str, room: str = "Gateway") -> Path:
    (directory / room).mkdir()
    (directory / room / "File.swift").write_text(text + "\n")
    return directory


@pytest.mark.parametrize("case", FAULTY)
def test_a_faulty_lock_is_found(tmp_path, case):
    result = lint(one_file(tmp_path, FAULTY[case]))
    assert result.returncode == 1, result.stdout
    assert "Gateway/File.swift:" in result.stdout


@pytest.mark.parametrize("case", SOUND)
def test_a_sound_use_is_not(tmp_path, case):
    result = lint(one_file(tmp_path, SOUND[case]))
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("attribute", ["@inline(never)", "@inlinable"])
def test_the_lock_itself_is_never_inlined(tmp_path, attribute):
    text = f"{attribute}\npackage func withLock() {{ mutex.withLock {{ 1 }} }}"
    assert lint(one_file(tmp_path, text, "Locking")).returncode == (0 if attribute == "@inline(never)" else 1)


def test_nothing_to_look_at_is_no_success(tmp_path):
    assert lint(tmp_path).returncode == 2


def scan(path: Path) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, SCAN, path], capture_output=True, text=True, timeout=120)


def test_a_thread_that_a_frame_keeps_is_found(tmp_path):
    source = tmp_path / "main.swift"
    source.write_text(KEEPS_A_THREAD)
    program = tmp_path / "program"
    subprocess.run(["swiftc", "-O", "-parse-as-library", source, "-o", program], check=True, timeout=110)
    result = scan(program)
    assert result.returncode == 1, result.stderr
    assert "Outbox" in result.stdout


@pytest.mark.skipif(bool(SANITIZER), reason="a sanitizer's code keeps addresses of its own")
def test_the_binary_keeps_no_thread():
    result = scan(binary())
    assert result.returncode == 0, result.stdout


def test_a_stripped_binary_is_no_success(tmp_path):
    stripped = tmp_path / "gatehouse"
    subprocess.run(["strip", "-o", stripped, "/bin/true"], check=True)
    assert scan(stripped).returncode == 2
