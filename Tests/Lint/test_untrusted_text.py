#!/usr/bin/env python3
"""Shows that untrusted_text.py finds what it should, and can fail."""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "Sample.swift"


class UntrustedText(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.directory = tempfile.TemporaryDirectory()
        cls.build = Path(cls.directory.name)
        (cls.build / "sources").mkdir()
        (cls.build / "sources" / "Sample.swift").write_text(SOURCE.read_text())
        (cls.build / "Sample.build").mkdir()
        subprocess.run(
            ["swiftc", "-Onone", "-parse-as-library", "-module-name", "Sample", "-c", "sources/Sample.swift"]
            + ["-o", "Sample.build/Sample.swift.o"],
            cwd=cls.build,
            check=True,
        )

    @classmethod
    def tearDownClass(cls) -> None:
        cls.directory.cleanup()

    def lint(self, trusted: str) -> tuple[int, list[str]]:
        listed = self.build / "trusted.txt"
        listed.write_text(trusted)
        command = [sys.executable, HERE / "untrusted_text.py", "--build", self.build, "--trusted", listed]
        result = subprocess.run([*command, f"Sample={self.build}/sources"], capture_output=True, text=True, check=False)
        return result.returncode, (result.stdout + result.stderr).splitlines()

    def test_each_use_is_found_and_nothing_else(self) -> None:
        status, lines = self.lint("")
        self.assertEqual(status, 1)
        found = {match[1] for line in lines if (match := re.match(r"not by bytes: Sample: (\w+)[<(]", line))}
        bad, good = SOURCE.read_text().split("// Not found.")
        # That two samples are compared is told by the equality that was made for it.
        self.assertEqual(found, set(re.findall(r"func (\w+)", bad)) - {"comparesSamples"})
        self.assertTrue(set(re.findall(r"func (\w+)", good)))

    def test_equality_counts_where_something_uses_it(self) -> None:
        text = "\n".join(self.lint("")[1])
        self.assertIn("Sample: Sample.__derived_struct_equals", text)
        self.assertNotIn("Unused", text)

    def test_what_is_listed_passes(self) -> None:
        self.assertEqual(self.lint("# Why: a test.\nSample: *\n")[0], 0)

    def test_a_line_that_stands_for_nothing_fails(self) -> None:
        status, lines = self.lint("# Why: a test.\nSample: *\nSample: gone(_:)\n")
        self.assertEqual(status, 1)
        self.assertIn("stands for nothing: Sample: gone(_:)", lines)

    def test_a_line_without_a_reason_fails(self) -> None:
        self.assertEqual(self.lint("Sample: *\n")[0], 1)

    def test_a_build_without_a_source_fails(self) -> None:
        extra = self.build / "sources" / "Other.swift"
        extra.write_text("")
        try:
            self.assertEqual(self.lint("# Why: a test.\nSample: *\n")[0], 2)
        finally:
            extra.unlink()


if __name__ == "__main__":
    unittest.main()
