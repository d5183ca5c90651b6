"""Prints what a release is made of, as CycloneDX 1.6: the Swift packages compiled into the binary, the Swift runtime, the
C libraries that these bring along as sources, and the Debian packages whose libraries it links. Needs nothing beyond Python
and nm; the same input gives the same bytes."""

import argparse
import hashlib
import json
import os
import re
import subprocess
import time
import uuid

from embedded import embedded


def swift_packages(path: str) -> list[dict]:
    """The pins of Package.resolved."""
    with open(path, encoding="utf-8") as file:
        pins = json.load(file)["pins"]
    return [swift_package(pin) for pin in sorted(pins, key=lambda pin: pin["identity"])]


def swift_package(pin: dict) -> dict:
    location = pin["location"].removesuffix(".git")
    version = pin["state"].get("version") or pin["state"]["revision"]
    purl = f"pkg:swift/{re.sub('^https?://', '', location)}@{version}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": pin["identity"],
        "version": version,
        "purl": purl,
        "externalReferences": [{"type": "vcs", "url": location, "comment": f"commit {pin['state']['revision']}"}],
    }


def debian_package(name: str) -> dict:
    fields = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}\t${Architecture}\t${source:Package}", name],
        capture_output=True, text=True, check=True,
    ).stdout
    version, architecture, source = fields.split("\t")
    purl = f"pkg:deb/debian/{name.replace('+', '%2B')}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "properties": [{"name": "gatehouse:debian-source", "value": source}],
    }


def swift_runtime() -> dict | None:
    """The toolchain's, if it is here: it is linked into the binary."""
    try:
        text = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    version = re.search(r"Swift version (\S+)", text)[1]
    purl = f"pkg:github/swiftlang/swift@swift-{version}-RELEASE"
    return {"type": "platform", "bom-ref": purl, "name": "swift", "version": version, "purl": purl}


def dependencies(component: dict, within: list[dict]) -> dict:
    brought = [each["bom-ref"] for each in within if each["bom-ref"].startswith(component["bom-ref"] + "#")]
    return {"ref": component["bom-ref"]} | ({"dependsOn": brought} if brought else {})


def document(arguments: argparse.Namespace) -> dict:
    with open(arguments.binary, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    runtime = swift_runtime()
    compiled = [*swift_packages(arguments.resolved), *([runtime] if runtime else [])]
    within = embedded(arguments.symbols, arguments.checkouts, {each["name"]: each for each in compiled})
    components = [*compiled, *within, *map(debian_package, sorted(arguments.debian))]
    reference = f"pkg:generic/gatehouse@{arguments.version}"
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))),
            "component": {
                "type": "application",
                "bom-ref": reference,
                "name": "gatehouse",
                "version": arguments.version,
                "purl": reference,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": reference, "dependsOn": [each["bom-ref"] for each in components]},
            *(dependencies(each, within) for each in components),
        ],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--symbols", required=True, help="the same before its symbols were removed")
    parser.add_argument("--resolved", required=True)
    parser.add_argument("--checkouts", required=True, help="where the sources of the Swift packages are")
    parser.add_argument("--debian", nargs="*", default=[])
    print(json.dumps(document(parser.parse_args()), indent=2, ensure_ascii=False))
