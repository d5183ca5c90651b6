#!/usr/bin/env python3
"""Shows that reasons.py finds what it should, and can fail."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().with_name("reasons.py")
REASON = "enum Reason {\n    case path(PathFault)\n}\n"
FAULT = 'enum PathFault: String {\n    case empty\n    /// Of several.\n    case tooLong = "path-too-long"\n}\n'


class Reasons(unittest.TestCase):
    def lint(self, **files: str) -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as directory:
            for name, text in {"Reason": REASON, "PathFault": FAULT, **files}.items():
                (Path(directory) / f"{name.replace('_', '+')}.swift").write_text(text)
            result = subprocess.run([sys.executable, LINT, directory], capture_output=True, text=True, check=False)
            return result.returncode, result.stdout.splitlines()[:-1]

    def test_a_case_that_nothing_gives_is_found(self) -> None:
        self.assertEqual(self.lint(Path="throw .empty\n"), (1, ["nothing gives PathFault.tooLong"]))

    def test_given_cases_are_not(self) -> None:
        self.assertEqual(self.lint(Path="throw .empty\nthrow PathFault.tooLong\n"), (0, []))

    def test_decisions_and_comments_give_nothing(self) -> None:
        found = self.lint(Path="throw .empty // not .tooLong\n", Reason_Calls="switch self { case .tooLong: true }\n")
        self.assertEqual(found, (1, ["nothing gives PathFault.tooLong"]))

    def test_a_reason_of_nothing_is_an_error(self) -> None:
        self.assertEqual(self.lint(Reason="enum Reason {}\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
