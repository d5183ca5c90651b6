#!/usr/bin/env python3
"""Finds code that keeps the address of a thread-local variable in an async function's frame.

    thread_addresses.py BINARY      exit status 0: none found; 1: found, one function a line; 2: cannot be read

Swift's `Mutex` knows its owner by a thread id in thread-local storage. With `-O`, Swift 6.3 computes that variable's address
once in an async function and keeps it in the function's frame. After a suspension the function may go on on another thread:
it then unlocks as a thread that never locked, and the process ends ("Call to unlock Mutex on a thread which hasn't acquired
the lock"). Debug builds never do this. The same holds for `errno`, whose address is a thread's too.

The scan reads the disassembly of an x86-64 binary that still has its symbols. In each function it follows the addresses of
thread-local variables (`%fs:0` and what is computed from it, the results of `__errno_location` and `pthread_self`) from
register to register through every branch. Two things are reported:

- such an address is stored in memory other than the function's own stack: the frame of an async function, on the heap;
- a thread id is asked for (the system call gettid, which each lock site of `Mutex` has) and stored at an address that does
  not come from `%fs` in the same function: it came from a frame.

C and C++ functions store such addresses for good reasons (a thread's own data structures); only the parts of async Swift
functions, by their mangled names, are looked at.
"""

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator

# An async function's first part ends with Ya… before its kind; the parts after a suspension end with TY or TQ and a number.
ASYNC_PART = re.compile(r"^(\$s|\$S|_\$s).*(Ya|T[YQ]\d+_)")
HEADER = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*?)\s*$")
PREFIXES = re.compile(r"^((data16|lock|rep|repz|repnz|notrack|bnd|cs|ds|es|rex\.\S+)\s+)+")
MEMORY = re.compile(r"^(?:%(?P<segment>[cdefgs]s):)?(?P<offset>-?0x[0-9a-f]+)?(?:\((?P<base>%\w+)?(?:,(?P<index>%\w+)?(?:,\d)?)?\))?$")
TARGET = re.compile(r"^([0-9a-f]+) <")
THREAD_ADDRESSES = ("__errno_location", "pthread_self", "__tls_get_addr")
CALLER_SAVED = {"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"}
GETTID = "$0xba"
# In bytes. Each range is a process of its own.
NEAR = 0x100000

_WIDE = {}
for _letter in "abcd":
    _WIDE |= {f"e{_letter}x": f"r{_letter}x", f"{_letter}x": f"r{_letter}x", f"{_letter}l": f"r{_letter}x"}
for _name in ("si", "di", "bp", "sp"):
    _WIDE |= {f"e{_name}": f"r{_name}", _name: f"r{_name}", f"{_name}l": f"r{_name}"}
for _number in range(8, 16):
    _WIDE |= {f"r{_number}{suffix}": f"r{_number}" for suffix in "dwb"}


def register(operand: str) -> str | None:
    """The 64-bit register that an operand names; nil for anything else."""
    if not operand.startswith("%") or ":" in operand:
        return None
    name = operand[1:]
    return _WIDE.get(name, name)


def operands(text: str) -> list[str]:
    """The operands of an instruction in AT&T order: sources first."""
    return [part.strip() for part in re.split(r",(?![^(]*\))", text)] if text else []


class Instruction:
    __slots__ = ("address", "name", "operands", "text")

    def __init__(self, address: int, text: str):
        self.address = address
        self.text = text
        bare = PREFIXES.sub("", text.split("#")[0].strip())
        self.name, _, rest = bare.partition(" ")
        self.operands = operands(rest.strip())

    @property
    def target(self) -> int | None:
        found = TARGET.match(self.operands[0]) if self.operands else None
        return int(found[1], 16) if found else None


def ranges(binary: str) -> list[tuple[int, int]]:
    """The addresses that hold parts of async functions: two that are near each other are one range. Most of a binary is
    elsewhere, in libraries without any."""
    table = subprocess.run(["nm", "-S", "--defined-only", binary], capture_output=True, text=True)
    if table.returncode:
        raise OSError(table.stderr.strip() or f"nm ended with {table.returncode}")
    symbols = (line.split() for line in table.stdout.splitlines())
    parts = sorted(
        (int(symbol[0], 16), int(symbol[1], 16)) for symbol in symbols if len(symbol) == 4 and ASYNC_PART.match(symbol[3])
    )
    found: list[tuple[int, int]] = []
    for start, length in parts:
        if found and start - found[-1][1] < NEAR:
            found[-1] = (found[-1][0], max(found[-1][1], start + length))
        else:
            found.append((start, start + length))
    return found


def functions(binary: str) -> Iterator[tuple[str, list[str]]]:
    """Each part of an async function, with the lines of its disassembly."""
    for start, end in ranges(binary):
        yield from disassembled(binary, start, end)


def disassembled(binary: str, start: int, end: int) -> Iterator[tuple[str, list[str]]]:
    span = [f"--start-address={start:#x}", f"--stop-address={end:#x}"]
    with subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", *span, binary], stdout=subprocess.PIPE, text=True
    ) as dump:
        name, lines = None, []
        for line in dump.stdout:
            # Instructions, of which there are millions, begin with a space.
            if line[0] != " " and (header := HEADER.match(line)):
                if name:
                    yield name, lines
                name, lines = header[1] if ASYNC_PART.match(header[1]) else None, []
            elif name:
                lines.append(line)
        if name:
            yield name, lines
    if dump.returncode:
        raise OSError(f"objdump ended with {dump.returncode}")


def stack_slot(operand: str) -> str | None:
    """The operand itself where it is a place on the function's own stack."""
    place = MEMORY.match(operand)
    return operand if place and place["base"] in ("%rsp", "%rbp") and not place["index"] else None


def after(instruction: Instruction, held: frozenset[str]) -> tuple[frozenset[str], bool]:
    """The registers and stack slots that hold a thread's address after an instruction, and whether one was stored in
    memory other than the stack."""
    name, parts = instruction.name, instruction.operands
    if name.startswith("call"):
        kept = held - CALLER_SAVED
        called = instruction.text.split("<")[-1]
        return (kept | {"rax"} if called.startswith(THREAD_ADDRESSES) else kept), False
    if not parts or name.startswith(("cmp", "test", "push", "j")):
        return held, False
    last = parts[-1]
    place = register(last) or stack_slot(last)
    if name.startswith("mov") and len(parts) == 2:
        source = parts[0]
        is_address = source.startswith("%fs:0x0") or (register(source) or stack_slot(source)) in held
        if place is None:
            # A 32-bit move stores no address.
            return held, is_address and source.startswith("%r") and not source.endswith("d")
        return (held | {place} if is_address else held - {place}), False
    if name.startswith("lea"):
        found = MEMORY.match(parts[0])
        is_address = bool(found) and any(register(found[part] or "") in held for part in ("base", "index"))
        return (held | {place} if is_address else held - {place}), False
    if name.startswith(("add", "sub", "cmov")):
        # Stays an address; the sum of a register with one is one.
        if register(parts[0]) in held and place:
            return held | {place}, False
        return held, False
    if name in ("xchg", "cmpxchg", "xadd"):
        return (held - {place}) if place else held, False
    return (held - {place}) if place else held, False


def successors(code: list[Instruction], position: int, by_address: dict[int, int]) -> Iterable[int]:
    instruction = code[position]
    name = instruction.name
    if name.startswith("j"):
        if instruction.target in by_address:
            yield by_address[instruction.target]
        if name.startswith("jmp"):
            return
    if name.startswith(("ret", "ud2", "hlt")):
        return
    if position + 1 < len(code):
        yield position + 1


def faults(lines: list[str]) -> list[str]:
    """The instructions of one function that keep a thread's address, or use one that was kept."""
    code = [Instruction(int(found[1], 16), found[2]) for line in lines if (found := INSTRUCTION.match(line))]
    by_address = {instruction.address: position for position, instruction in enumerate(code)}
    states: dict[int, frozenset[str]] = {0: frozenset()}
    waiting = [0]
    found: dict[int, str] = {}
    while waiting:
        position = waiting.pop()
        held, is_kept = after(code[position], states[position])
        if is_kept:
            found[position] = code[position].text
        for following in successors(code, position, by_address):
            known = states.get(following)
            merged = held if known is None else known | held
            if merged != known:
                states[following] = merged
                waiting.append(following)
    for position in states:
        if is_lock_site(code, position) and (use := foreign_identity(code, position, states)):
            found[position] = use
    return [found[position] for position in sorted(found)]


def is_lock_site(code: list[Instruction], position: int) -> bool:
    """Whether a thread's id is asked for here: the number of gettid, shortly before a system call."""
    instruction = code[position]
    return (
        instruction.name.startswith("mov")
        and instruction.operands[:1] == [GETTID]
        and any(each.name.startswith("call") and "<syscall" in each.text for each in code[position + 1 : position + 6])
    )


def foreign_identity(code: list[Instruction], position: int, states: dict[int, frozenset[str]]) -> str | None:
    """The instruction that stores the thread's id which was asked for, where its address is no thread's that was computed
    in this function; nil where it is, or the id is not stored within a few instructions."""
    called = next(at for at in range(position, len(code)) if code[at].name.startswith("call"))
    identity = {"rax"}
    for at in range(called + 1, min(called + 8, len(code))):
        instruction = code[at]
        if not instruction.name.startswith("mov") or len(instruction.operands) != 2:
            continue
        source, destination = instruction.operands
        if register(source) not in identity:
            continue
        if target := register(destination):
            identity.add(target)
            continue
        place = MEMORY.match(destination)
        if not place or stack_slot(destination):
            continue
        base = register(place["base"] or "")
        return None if place["segment"] == "fs" or base in states.get(at, frozenset()) else instruction.text
    return None


def scan(binary: str) -> tuple[dict[str, list[str]], int]:
    """The faults by function, and how many parts of async functions were looked at."""
    found: dict[str, list[str]] = defaultdict(list)
    looked_at = 0
    for name, lines in functions(binary):
        looked_at += 1
        if any("%fs:0x0" in line or GETTID in line or any(each in line for each in THREAD_ADDRESSES) for line in lines):
            if wrong := faults(lines):
                found[name] += wrong
    return found, looked_at


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: thread_addresses.py BINARY", file=sys.stderr)
        return 2
    try:
        found, looked_at = scan(sys.argv[1])
    except OSError as error:
        print(f"thread_addresses.py: {error}", file=sys.stderr)
        return 2
    if not looked_at:
        print(f"thread_addresses.py: {sys.argv[1]} has no async Swift function: is it stripped?", file=sys.stderr)
        return 2
    for name, wrong in sorted(found.items()):
        print(f"{name}: {'; '.join(wrong)}")
    print(f"{looked_at} parts of async functions, {len(found)} keep a thread's address", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
