#!/usr/bin/env python3
"""Shows that dependencies.py finds what it should, and can fail."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().with_name("dependencies.py")


class Dependencies(unittest.TestCase):
    def lint(self, text: str, **named: list[str]) -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "File.swift").write_text(text)
            target = {"name": "Target", "path": directory, "sources": ["File.swift"], "module_type": "SwiftTarget", **named}
            description = Path(directory) / "description.json"
            description.write_text(json.dumps({"targets": [target]}))
            result = subprocess.run([sys.executable, LINT, description], capture_output=True, text=True, check=False)
            return result.returncode, result.stdout.splitlines()[:-1]

    def test_what_is_not_imported_is_found(self) -> None:
        found = self.lint("import One\n", target_dependencies=["One", "Two"], product_dependencies=["Three"])
        self.assertEqual(found, (1, ["Target imports no Three", "Target imports no Two"]))

    def test_every_form_of_an_import_counts(self) -> None:
        for line in ("import One", "internal import One", "@testable import One", "package import struct One.Part"):
            self.assertEqual(self.lint(f"{line}\n", target_dependencies=["One"]), (0, []), line)

    def test_a_comment_is_no_import(self) -> None:
        self.assertEqual(self.lint("// import One\n", target_dependencies=["One"])[0], 1)


if __name__ == "__main__":
    unittest.main()
