#!/usr/bin/env python3
"""Shows that comments.py finds what it should, and can fail."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINT = Path(__file__).resolve().with_name("comments.py")


class Comments(unittest.TestCase):
    def lint(self, text: str, name: str = "File.swift") -> tuple[int, list[str]]:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / name).write_text(text)
            result = subprocess.run([sys.executable, LINT, directory], capture_output=True, text=True, check=False)
            return result.returncode, [line.split(": ", 2)[2] for line in result.stdout.splitlines()[:-1]]

    def test_a_clause_at_the_beginning_is_found(self) -> None:
        for comment in (
            "/// What it is.", "/// Who asks.", "// Whose it is.", "    /// Who asks.\n    /// More.", "/** Who asks. */",
            "///Who asks.", "// MARK: What is asked", "/// - Returns: What it is.",
        ):  # fmt: skip
            status, found = self.lint(f"{comment}\nlet user: User\n")
            self.assertEqual((status, len(found)), (1, 1), comment)

    def test_each_paragraph_has_a_beginning(self) -> None:
        self.assertEqual(self.lint("/// A user.\n///\n/// Who is none has no name.\n"), (1, ["Who is none has no name."]))

    def test_headers_and_scripts_are_read(self) -> None:
        for name in ("shim.h", "page.js"):
            self.assertEqual(self.lint("// Who asks.\n", name=name)[0], 1)
        for name in ("tool.py", "run.sh", "settings.yaml"):
            self.assertEqual(self.lint("x: 1\n    # Who asks.\n", name=name)[0], 1)
        self.assertEqual(self.lint('def user():\n    """Who asks."""\n', name="tool.py")[0], 1)

    def test_each_sentence_has_a_beginning(self) -> None:
        for comment in ("/// A user. Who is none has no name.\n", "/// A user.\n/// Who is none has no name.\n"):
            self.assertEqual(self.lint(comment), (1, ["Who is none has no name."]))

    def test_a_directory_of_several_is_read(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            (Path(other) / "File.swift").write_text("// Who asks.\n")
            self.assertEqual(subprocess.run([sys.executable, LINT, one, other], capture_output=True, check=False).returncode, 1)

    def test_other_places_of_the_words_are_not(self) -> None:
        for text in (
            "/// The user\n/// Who asks.\n", "/// Whoever asks.\n", 'let text = "Who asks"\n', "let a = 1  // Who asks.\n",
            "/// - Parameter user: who asks.\n", "/// Whatever it is.\n",
        ):  # fmt: skip
            self.assertEqual(self.lint(text), (0, []), text)

    def test_a_directory_without_sources_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(subprocess.run([sys.executable, LINT, directory], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
