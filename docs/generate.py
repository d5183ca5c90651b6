#!/usr/bin/env python3
"""Makes the pages whose facts are the program's own: the reference, troubleshooting, and tables of two other pages.

    docs/generate.py [--check] [--binary FILE]

The facts come from `gatehouse reference` and `gatehouse schema`; the words beside them are in the YAML files here. The
tables of capacity.md come from deploy/loadtest/capacity.py. The words around tables stay. With
--check nothing is written: the exit status is 1 if a page is not as it would be. The binary is .build/release/gatehouse,
or GATEHOUSE_BINARY.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))

from generator import audit, capacity, commands, configuration, log_fields, metrics, reasons  # noqa: E402


def read(binary: str, command: str) -> dict:
    return json.loads(subprocess.run([binary, command], check=True, capture_output=True, text=True).stdout)


def words(name: str):
    return yaml.safe_load((DOCS / name).read_text(encoding="utf-8"))


def generated(reference: dict, schema: dict) -> dict[str, str]:
    """The text of each page, by its path in this directory."""
    return {
        **reasons.pages(reference, words("reasons.yaml")),
        "capacity.md": capacity.page((DOCS / "capacity.md").read_text(encoding="utf-8")),
        "audit-app.md": audit.page((DOCS / "audit-app.md").read_text(encoding="utf-8"), reference),
        **{f"reference/{name}": text for name, text in commands.pages(reference).items()},
        **{f"reference/configuration/{name}": text for name, text in configuration.pages(schema).items()},
        "reference/metrics.md": metrics.metrics_page(reference, words("metrics.yaml")),
        "reference/errors.md": metrics.errors_page(reference),
        "reference/log-fields.md": log_fields.log_fields_page(reference, words("log-fields.yaml")),
    }


def differing(pages: dict[str, str]) -> list[str]:
    """The pages that are not as they would be written."""
    texts = {name: (DOCS / name).read_text(encoding="utf-8") if (DOCS / name).is_file() else "" for name in pages}
    return [name for name, text in pages.items() if texts[name] != text]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binary", default=os.environ.get("GATEHOUSE_BINARY") or str(DOCS.parent / ".build/release/gatehouse"))
    options = parser.parse_args()
    pages = generated(read(options.binary, "reference"), read(options.binary, "schema"))
    for name in differing(pages):
        print(f"docs/{name} {'is not current' if options.check else 'written'}")
        if not options.check:
            (DOCS / name).parent.mkdir(parents=True, exist_ok=True)
            (DOCS / name).write_text(pages[name], encoding="utf-8")
    return 1 if differing(pages) else 0


if __name__ == "__main__":
    raise SystemExit(main())
