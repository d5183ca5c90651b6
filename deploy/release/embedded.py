"""The C libraries whose sources Swift packages and the Swift runtime bring along: they are in the binary, and advisories
name them, not who brings them."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# libyaml says its version in its build files only, which Yams leaves out: known by the sources (0.2.5 with some changes).
LIBYAML_BY_SOURCES = {"54501849a1c44cb96a5c744a86ab9193a655a34476556084a6cb951e7eca52dc": "0.2.5"}


@dataclass(frozen=True)
class Library:
    name: str
    # The supplier: the identity of a Swift package, or "swift" for the runtime.
    owner: str
    # A prefix or part of its functions' names in the binary's symbol table.
    symbol: str
    purl: str
    cpe: str
    version: Callable[[Path], str]

    def component(self, owner: dict, checkouts: Path) -> dict:
        version = self.version(checkouts)
        return {
            "type": "library",
            "bom-ref": f"{owner['bom-ref']}#{self.name}",
            "name": self.name,
            "version": version,
            "cpe": self.cpe.format(version=version),
            "purl": self.purl.format(version=version, dashed=version.replace(".", "-")),
            "properties": [{"name": "gatehouse:within", "value": owner["bom-ref"]}],
        }


def found(pattern: str, path: Path) -> str:
    match = re.search(pattern, path.read_text(encoding="utf-8", errors="replace"))
    if not match:
        raise SystemExit(f"{path} does not say the version of what it is part of")
    return match[1]


def boringssl(package: str, target: str) -> Callable[[Path], str]:
    return lambda checkouts: found(r"at revision ([0-9a-f]{40})", checkouts / package / "Sources" / target / "hash.txt")


def llhttp(checkouts: Path) -> str:
    header = checkouts / "swift-nio/Sources/CNIOLLHTTP/include/c_nio_llhttp.h"
    return ".".join(found(rf"#define LLHTTP_VERSION_{part} (\d+)", header) for part in ("MAJOR", "MINOR", "PATCH"))


def libyaml(checkouts: Path) -> str:
    directory = checkouts / "Yams/Sources/CYaml/src"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(directory.glob("*.c")))).hexdigest()
    if digest not in LIBYAML_BY_SOURCES:
        raise SystemExit(f"{directory} has changed: find out which libyaml it is of, and name {digest} here")
    return LIBYAML_BY_SOURCES[digest]


def icu(_: Path) -> str:
    toolchain = Path(shutil.which("swift") or "/usr/bin/swift").resolve().parents[1]
    return found(r'#define U_ICU_VERSION "([0-9.]+)"', toolchain / "lib/swift/_foundation_unicode/uvernum.h")


BORINGSSL = ("pkg:github/google/boringssl@{version}", "cpe:2.3:a:google:boringssl:{version}:*:*:*:*:*:*:*")
LIBRARIES = [
    Library("boringssl", "swift-nio-ssl", "CNIOBoringSSL_", *BORINGSSL, boringssl("swift-nio-ssl", "CNIOBoringSSL")),
    Library(
        "llhttp", "swift-nio", "c_nio_llhttp_", "pkg:github/nodejs/llhttp@v{version}",
        "cpe:2.3:a:llhttp:llhttp:{version}:*:*:*:*:node.js:*:*", llhttp,
    ),
    Library(
        "libyaml", "yams", "yaml_parser_", "pkg:github/yaml/libyaml@{version}",
        "cpe:2.3:a:pyyaml:libyaml:{version}:*:*:*:*:*:*:*", libyaml,
    ),
    Library(
        "icu", "swift", "ucol_", "pkg:github/unicode-org/icu@release-{dashed}",
        r"cpe:2.3:a:unicode:international_components_for_unicode:{version}:*:*:*:*:c\/c\+\+:*:*", icu,
    ),
]


def embedded(binary: str, checkouts: str, owners: dict[str, dict]) -> list[dict]:
    """Those that are in the binary; all that may be, where it has no symbols to tell by."""
    symbols = subprocess.run(["nm", binary], capture_output=True, text=True, check=True).stdout
    return [
        library.component(owners[library.owner], Path(checkouts))
        for library in LIBRARIES
        if library.owner in owners and (not symbols or re.search(rf"(?m) [tT] {library.symbol}", symbols))
    ]
