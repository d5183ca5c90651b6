#!/usr/bin/env python3
"""Finds locks that an async function's own body takes.

    locks.py [DIRECTORY]      default: Sources; exit status 1 and a line for each use when there are any

With `-O`, Swift 6.3 keeps the address of a thread's id in an async function's frame across a suspension, so that a `Mutex`
locked in the function's own body ends the process (see Sources/Locking/Locked.swift). Two rules keep that from happening:

1. Only `Locked`, in Sources/Locking, uses a mutex. Each of its functions that takes it is synchronous and `@inline(never)`.
2. What waits for another thread in any other way (`flock`, a semaphore, a queue's `sync`) stands in a synchronous function.

The app's half has no dependencies, and needs systems that have no `Mutex`: its targets may use NSLock, whose functions are
Foundation's own and are not inlined.

A third rule keeps calls from overflowing the stack: the value behind a lock is no function itself, but may be a struct with
functions.
"""

import bisect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOM = "Locking"
APP_ROOMS = ("GatehouseClient", "GatehouseClientTesting")
MUTEXES = re.compile(
    r"\b(Mutex|NIOLock|NIOLockedValueBox|NIOConcurrencyHelpers|ConditionLock|NSLock|NSRecursiveLock|NSCondition|OSAllocatedUnfairLock"
    r"|os_unfair_lock\w*|pthread_(?:mutex|rwlock|spin|cond)_\w+|mtx_\w+|sem_wait|sem_timedwait|ManagedCriticalState)\b"
)
# A function as the value itself, or as an optional: in an array or a dictionary it is not wrapped by each access.
FUNCTIONS = re.compile(r"\bLocked\s*(?:<\s*\(*\s*(?:@\w+\s*)*\([^<>]*\)\s*(?:async\s*)?(?:throws\s*(?:\([^()]*\)\s*)?)?->|\(\s*\{)")
WAITS = re.compile(r"\bflock\(|\blockf\(|\.wait\(\)|\.wait\(timeout|\bsync\s*[({]|\bF_SETLKW\b|\bF_OFD_SETLKW\b")
TAKES = re.compile(r"\bmutex\s*\.|_unsafeLock|\bwithLock(IfAvailable)?\(")
ASYNC_CLOSURE = re.compile(r"(\bTask(\.detached)?|\.addTask\w*|\bTask\.immediate)\s*(\([^()]*\))?\s*$")
ASYNC_FUNCTION = re.compile(r"\b(func|init|get|subscript)\b.*\)\s*(async\b|reasync\b)|\bget\s+async\b|\basync\s+(throws\b.*)?(in|->)", re.DOTALL)
CONTINUATION = re.compile(r"\s*(throws|async|->|where|[{)])")
SYNCHRONOUS = re.compile(r"\b(func\s+\S|init[?(<]|deinit\b|class\b|struct\b|enum\b|actor\b|extension\b|protocol\b)")


def code_only(text: str) -> str:
    """The source with comments and the contents of strings blanked, so that every place keeps its line."""

    def blank(found: re.Match) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return re.sub(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def async_places(code: str) -> list[tuple[int, bool]]:
    """The places of braces and ends of lines, with whether what follows each is directly in the body of an async function."""
    places = []
    # Whether the code in each open pair of braces runs in an async function.
    bodies: list[bool] = []
    start = 0
    for found in re.finditer(r"[{};\n]", code):
        place, character = found.start(), found[0]
        if character == "{":
            header = code[start:place].strip()
            # A closure's parameters and effects stand behind its brace.
            signature = re.match(r"\s*(\[[^\]]*\])?\s*(\([^()]*\)|[\w, ]*)\s*async\b[^{}\n]*\bin\b", code[place + 1 : place + 200])
            if ASYNC_CLOSURE.search(header) or ASYNC_FUNCTION.search(header) or signature:
                bodies.append(True)
            elif SYNCHRONOUS.search(header):
                bodies.append(False)
            else:
                bodies.append(bodies[-1] if bodies else False)
            start = place + 1
        elif character == "}":
            if bodies:
                bodies.pop()
            start = place + 1
        elif character == ";" or not is_continued(code, start, place):
            start = place + 1
        places.append((place, bool(bodies) and bodies[-1]))
    return places


def is_continued(code: str, start: int, place: int) -> bool:
    """Whether a statement goes on on the next line: brackets are open, or a declaration has no body yet."""
    text = code[start:place]
    if text.count("(") > text.count(")") or text.count("[") > text.count("]"):
        return True
    return bool(re.search(r"\b(func|init|subscript)\b", text) and CONTINUATION.match(code, place))


def uses(text: str, room: str) -> Iterator[tuple[int, str]]:
    """The faulty lines of one file, by number."""
    code = code_only(text)
    is_room = room == ROOM
    for found in ([] if is_room else MUTEXES.finditer(code)):
        if room in APP_ROOMS and found[0] == "NSLock":
            continue
        yield code.count("\n", 0, found.start()) + 1, f"{found[0]} outside Sources/{ROOM}: use Locked"
    for found in FUNCTIONS.finditer(code):
        yield code.count("\n", 0, found.start()) + 1, "a function is the value behind a lock: use a struct with the function"
    waits = list(WAITS.finditer(code))
    places = async_places(code) if waits else []
    for found in waits:
        before = bisect.bisect(places, found.start(), key=lambda place: place[0])
        is_async = before > 0 and places[before - 1][1]
        line = code[code.rfind("\n", 0, found.start()) + 1 : found.start()]
        if is_async and not re.search(r"\bawait\b", line):
            yield code.count("\n", 0, found.start()) + 1, f"an async function waits with {found[0].strip('.({ ')}"
    if is_room:
        yield from takers(code)


def takers(code: str) -> Iterator[tuple[int, str]]:
    """Functions of the room itself that take the mutex and may be inlined, or are async."""
    for found in re.finditer(r"(?P<attributes>(?:@\w+(?:\([^)]*\))?\s+)*)(?:package|public|internal|private)?\s*\w*\s*func (?P<name>\w+)(?P<signature>[^{]*)\{(?P<body>[^}]*)\}", code):
        if not TAKES.search(found["body"]):
            continue
        line = code.count("\n", 0, found.start("name")) + 1
        if "@inline(never)" not in found["attributes"]:
            yield line, f"{found['name']} takes the mutex and may be inlined"
        if re.search(r"\)\s*async\b", found["signature"]):
            yield line, f"{found['name']} takes the mutex and is async"


def main() -> int:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "Sources")
    files = sorted(directory.rglob("*.swift"))
    if not files:
        print(f"locks.py: no Swift source in {directory}", file=sys.stderr)
        return 2
    count = 0
    for path in files:
        for line, fault in sorted(uses(path.read_text(), path.relative_to(directory).parts[0])):
            print(f"{path}:{line}: {fault}")
            count += 1
    print(f"{len(files)} files, {count} locks where none may be")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
