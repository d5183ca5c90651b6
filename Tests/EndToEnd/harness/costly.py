"""Text that is costly to compare as characters, and what a request that holds it costs a process.

A letter with thousands of combining marks is one character. Comparing it by Unicode's canonical equivalence sorts the
marks first, in time that grows with the square of their number: seconds for 64 KiB. Other shapes make finding the
borders of characters, or changing the case, expensive.
"""

import time
from collections.abc import Callable

from .process import Process, wait_until

# The repeated parts. The classes of combining marks differ, and stand in an order that must be sorted.
SHAPES = {
    "marks": "\u0345\u0334",
    "marks-in-the-other-order": "\u0334\u0345",
    "marks-of-many-classes": "\u0345\u0361\u035c\u0301\u0316\u05b0\u0651\u0e38\u0f71\u1dce\u0334",
    "accented-letters": "e\u0301",
    "decompositions": "\u0390\u1fa7\ufdfa\U0001d160",
    "flags": "\U0001f1e6",
    "hangul": "\u1100\u1161\u11a8",
    "joined-emoji": "\U0001f469\u200d",
    "conjuncts": "\u0915\u094d",
    "capitals": "\u0130\u1e9e",
}
PLAIN = "x"

# 64 KiB of any text may cost this many times a call with a plain body of 64 KiB, which is measured in the same tries: what
# else the machine does, a slower machine and another build cost both alike.
LIMIT_CALLS = 10 / 3
LIMIT_BYTES = 64 << 10


def costly(shape: str, size: int, beginning: str = "a", number: int = 0) -> str:
    """About `size` bytes of one shape behind `beginning`. Texts of different numbers are different at their ends."""
    end = f"\u0301{number}"
    unit = SHAPES.get(shape, shape)
    count = (size - len(beginning.encode()) - len(end)) // len(unit.encode())
    return beginning + unit * max(1, count) + end


class Meter:
    """The processor time of a process."""

    def __init__(self, process: Process):
        # The clock of another process (Linux, CPUCLOCK_SCHED).
        self._clock = (~process.pid << 3) | 2
        self._number = 0
        self._rest()
        self._call: Callable[[], object] = lambda: None

    def _now(self) -> float:
        return time.clock_gettime(self._clock)

    def _rest(self) -> float:
        """The process's time once it has nothing left to do."""
        readings = [-1.0, self._now()]

        def rests() -> bool:
            readings.append(self._now())
            return readings[-1] - readings[-2] < 0.000_02

        wait_until(rests, "the process to come to rest", interval=0.001)
        return readings[-1]

    def cost(self, do: Callable[[], object]) -> float:
        # Whoever measured before has waited for its end.
        before = self._now()
        do()
        return self._rest() - before

    def calibrate(self, do: Callable[[], object]) -> None:
        """Sets the call with a plain body of 64 KiB that others are compared with."""
        self._call = do

    def assert_cheap(self, send: Callable[[str], object], size: int, beginning: str = "a") -> None:
        """Text of every shape costs no more than three times what plain text of that length does, and its part of a few
        calls with a plain body.

        Others use the machine as well, so the least of a few tries counts.
        """
        share = LIMIT_CALLS * size / LIMIT_BYTES
        call = min(self.cost(self._call) for _ in range(5))
        reference = min(self._cost_of(send, PLAIN, size, beginning) for _ in range(2))
        for shape in SHAPES:
            least = self._cost_of(send, shape, size, beginning)
            for _ in range(5):
                if least <= 3 * reference + share * call:
                    break
                call = max(call, self.cost(self._call))
                reference = max(reference, self._cost_of(send, PLAIN, size, beginning))
                least = min(least, self._cost_of(send, shape, size, beginning))
            assert least <= 3 * reference + share * call, (
                f"{size} bytes of {shape} took {least * 1000:.2f} ms, plain text {reference * 1000:.2f} ms, "
                f"a plain body of 64 KiB {call * 1000:.2f} ms"
            )

    def _cost_of(self, send: Callable[[str], object], shape: str, size: int, beginning: str) -> float:
        self._number += 1
        text = costly(shape, size, beginning, self._number)
        return self.cost(lambda: send(text))
