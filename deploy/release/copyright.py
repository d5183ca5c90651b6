"""Prints the package's copyright file: which terms hold for what is compiled into the binary, as the sources themselves say
them. Of Gatehouse itself it says that no licence has been granted, since its sources hold none."""

import argparse
import shutil
from pathlib import Path

from bill_of_materials import swift_packages

BEGINNING = """\
Gatehouse {version}

Copyright: the authors of Gatehouse.

The sources come without a licence: none has been granted to anybody.

The program holds, compiled in, the works of others that follow, each with the
terms and notices that its own sources hold. The libraries that it links when it
starts (OpenSSL, libcurl, SQLite, zlib, the C and C++ libraries) are Debian packages
with copyright files of their own.
"""
APACHE = """\
Apache License, Version 2.0, whose text is in /usr/share/common-licenses/Apache-2.0
or at https://www.apache.org/licenses/LICENSE-2.0.
"""
EXCEPTION = "## Runtime Library Exception"


def terms(text: str) -> str:
    """The Apache licence, which many share, by its name, with what an author has added to it."""
    if "Apache License" not in text[:200]:
        return text
    _, heading, exception = text.partition(EXCEPTION)
    return f"{APACHE}\n{heading}{exception}" if heading else APACHE


def section(title: str, files: list[Path]) -> str:
    if not files:
        raise SystemExit(f"no licence found of {title}")
    texts = [terms(path.read_text(encoding="utf-8")).strip("\n") for path in files]
    return "\n\n".join([f"{'-' * 80}\n{title}", *texts]) + "\n"


def package_sections(resolved: str, checkouts: Path) -> list[str]:
    # A checkout is named as its repository, the package in small letters.
    directories = {path.name.lower(): path for path in checkouts.iterdir()}
    sections = []
    for package in swift_packages(resolved):
        url = package["externalReferences"][0]["url"]
        directory = directories[url.rsplit("/", 1)[1].lower()]
        files = sorted([*directory.glob("LICENSE*"), *directory.glob("NOTICE*"), *directory.glob("Sources/C*/LICENSE*")])
        sections.append(section(f"{package['name']} {package['version']}, {url}", files))
    return sections


def runtime_sections() -> list[str]:
    swift = shutil.which("swift")
    licence = Path(swift).resolve().parents[1] / "share/swift/LICENSE.txt" if swift else None
    return [section("the Swift runtime, https://github.com/swiftlang/swift", [licence])] if licence else []


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--resolved", required=True)
    parser.add_argument("--checkouts", required=True)
    given = parser.parse_args()
    parts = [*package_sections(given.resolved, Path(given.checkouts)), *runtime_sections()]
    print("\n".join([BEGINNING.format(version=given.version), *parts]), end="")
