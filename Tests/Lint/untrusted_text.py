#!/usr/bin/env python3
"""Finds code that treats text as characters: that compares, hashes, orders, cuts, counts or searches it as a `String`.

Unicode's canonical equivalence makes each of these quadratic in the number of combining marks, or at least slow, for
text that an attacker writes. Such code belongs to bytes (`ExactText`, `String.utf8`) wherever text comes from outside.
This reads the object files of the debug build, where every use of the standard library's generic code is a reference to
a symbol: what is found is what was compiled, by type, however it is written.

What deals with trusted text alone is listed in trusted_text.txt, by the reason why it is. Two kinds need no entry:
equality and hashing that nothing in the gateway uses (tests do), and the raw values of enumerations, which are literals.

    Tests/Lint/untrusted_text.py [--build DIRECTORY] [--trusted FILE] [--show] [MODULE=SOURCES ...]

The exit status is 1 for a use that is not listed, or for an entry that stands for none; 2 where the build is missing. Run
it after swift build. Left out are the modules that see no client's text: SettingsReader, Settings and gatehouse read what
operators write, LocalPool is for development.
"""

import argparse
import fnmatch
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from objects import OF_CODE, ObjectFile

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCES = {
    name: REPOSITORY / "Sources" / directory
    for name, directory in {
        **{
            name: name
            for name in (
                "ACME", "Accounts", "Admin", "Clocks", "Cognito", "Curl", "Diagnostics", "Encoding", "Gateway", "HTTP1", "HTTPClient",
                "Keys", "Listener", "Pipeline", "Proxy", "Sealing", "Sessions", "Store", "Telemetry", "Upstream",
            )
        },
        "Cryptography": "Crypto",
    }.items()
}

TEXT = r"Swift\.(?:String|Substring|Character)"
# Conformances through which generic code compares, hashes, orders or walks through text.
CONFORMANCE = re.compile(
    rf"^protocol (?:witness table|conformance descriptor) for {TEXT} : "
    r"Swift\.(?:Equatable|Hashable|Comparable|Sequence|Collection|BidirectionalCollection|RangeReplaceableCollection) "
)
MEMBER = re.compile(rf"^(?:static )?(?:\(extension in (\w+)\):)?(?:{TEXT}|Swift\.StringProtocol)\.(.*)$")
# Members of these types that go by bytes or scalars, once each, or make text without looking into it.
LINEAR = re.compile(
    r"^(?:utf8|unicodeScalars|utf8CString|withUTF8|isEmpty|startIndex|endIndex|description|debugDescription|write"
    r"|init(?:<(?!.*Swift\.Character).*>)?\(|subscript\.(?:getter|read) : \(Swift\.Range<|\+|append|reserveCapacity|_copying|_uncheckedFromUTF8|_bridge|makeContiguousUTF8"
    r"|UTF8View|UTF16View|UnicodeScalarView|Index)"
)
SPECIALISED = re.compile(rf"^(?:generic|function signature) .*<{TEXT}.*> of ")
OWN = re.compile(rf"^(?:{'|'.join(SOURCES)}|GRDB|NIO\w*|Logging)$")
# Functions that only hand on the use: the callers are found.
HANDS_ON = re.compile(r"^lazy protocol witness table accessor|\.init\(rawValue: Swift\.String\)")
# References to that without a use.
REQUIRED = re.compile(r"^protocol witness for Swift\.RawRepresentable\.init|^enum \w+ with raw")
ENUMERATION_HASH = re.compile(r"OS[HQ]\w*TW$")
# Equality and hashing: used only if something else refers to it.
EQUALITY = re.compile(
    r"__derived_(?:struct|enum)_equals|\.hash\(into: inout Swift\.Hasher\)|\.hashValue\.getter"
    r"|^protocol witness for (?:static )?Swift\.(?:Equatable|Hashable)\."
    r"|^(?:protocol witness table|protocol conformance descriptor|base witness table accessor|lazy protocol witness table"
    r"|protocol witness table accessor|reflection|associated type)"
    r".*: Swift\.(?:Equatable|Hashable) "
    r"|^base witness table accessor for Swift\.Equatable in |^associated conformance .*SH\w*SQ$"
)
# Functions that only a witness table calls, so that a call of one of the file's own is in the relocations.
WITNESS = re.compile(r"T[Wb]$|Wb$")
PARTS = re.compile(
    r"^(?:(?:implicit )?closure #\d+ in |partial apply for |partial apply forwarder for |static "
    r"|\(\d+\) (?:await resume|suspend resume) partial function for |one-time initialization function for "
    r"|variable initialization expression of |default argument \d+ of |specialized |local \S+ #\d+ in "
    r"|key path (?:getter|setter) for |merged )+"
)


class Function:
    def __init__(self, symbol: str, module: str, source: str):
        self.symbol, self.module, self.source = symbol, module, source
        self.uses: dict[str, int] = defaultdict(int)
        self.references: dict[str, int] = defaultdict(int)


def demangled(symbols: list[str], *options: str) -> dict[str, str]:
    result = subprocess.run(
        ["swift", "demangle", "-compact", *options], input="\n".join(symbols), capture_output=True, text=True, check=True
    )
    return dict(zip(symbols, result.stdout.split("\n"), strict=False))


def objects(build: Path, module: str, sources: Path) -> list[Path]:
    """The module's object files, one for each source; exits where one is missing."""
    found = []
    for source in sorted(sources.rglob("*.swift")):
        path = build / f"{module}.build" / f"{source.name}.o"
        # Times say nothing: the compiler keeps the object of a source whose contents are the same.
        if not path.exists():
            print(f"{path} is missing: swift build comes first", file=sys.stderr)
            raise SystemExit(2)
        found.append(path)
    if not found:
        print(f"there is no source in {sources}", file=sys.stderr)
        raise SystemExit(2)
    return found


def is_costly(name: str) -> bool:
    """Whether a symbol, demangled, is of the standard library's code for text as characters."""
    if CONFORMANCE.match(name) or "_findStringSwitchCase" in name or "_stringCompare" in name:
        return True
    if name.startswith("dispatch thunk of Swift.RawRepresentable.init(rawValue:"):
        return True
    if "extension in _StringProcessing" in name or "extension in Foundation" in name:
        return True
    if SPECIALISED.match(name):
        return is_costly(name.split("> of ", 1)[1])
    member = MEMBER.match(name)
    if not member or (member[1] and OWN.match(member[1])):
        return False
    return not LINEAR.match(member[2])


class Program:
    """All functions of the modules, and what they refer to."""

    def __init__(self, build: Path, modules: dict[str, Path]):
        self.functions: list[Function] = []
        referrers: dict[str, set[str]] = defaultdict(set)
        locals_: set[str] = set()
        symbols: set[str] = set()
        for module, sources in modules.items():
            for path in objects(build, module, sources):
                functions: dict[str, Function] = {}
                for holder, other, section in ObjectFile(path).references:
                    if holder is None or not other.name or section.startswith("swift5_"):
                        continue
                    symbols.update((holder.name, other.name))
                    referrers[other.name].add(holder.name)
                    if other.is_local:
                        locals_.add(other.name)
                    if holder.kind == OF_CODE:
                        function = functions.setdefault(holder.name, Function(holder.name, module, path.name.removesuffix(".o")))
                        function.references[other.name] += 1
                self.functions += functions.values()
        swift = sorted(each for each in symbols if each.startswith("$s"))
        self.names = demangled(swift)
        self.short = demangled([each.symbol for each in self.functions if each.symbol.startswith("$s")], "-simplified")
        self.costly = {symbol for symbol, name in self.names.items() if is_costly(name)}
        self._hand_on()
        self.unused = self._unused_equality(referrers, locals_)

    def name(self, symbol: str) -> str:
        return self.names.get(symbol, symbol)

    def _hand_on(self) -> None:
        while True:
            more = {
                each.symbol
                for each in self.functions
                if HANDS_ON.search(self.name(each.symbol)) and self.costly & each.references.keys()
            } - self.costly
            if not more:
                return
            self.costly |= more

    def _unused_equality(self, referrers: dict[str, set[str]], locals_: set[str]) -> set[str]:
        # A call of a local symbol need not be in the relocations: then nothing is known of who uses it.
        # Not so of what only a witness table calls.
        locals_ = {each for each in locals_ if not WITNESS.search(each)}
        unused = {each for each in referrers.keys() | self.names.keys() if EQUALITY.search(self.name(each))} - locals_ - self.costly
        while True:
            used = {symbol for symbol in unused if referrers[symbol] - unused - {symbol}}
            if not used:
                return unused
            unused -= used

    def findings(self) -> list[Function]:
        found = []
        for function in self.functions:
            name = self.name(function.symbol)
            if function.symbol in self.costly | self.unused or REQUIRED.search(name):
                continue
            if ENUMERATION_HASH.search(function.symbol):
                continue
            for symbol, count in function.references.items():
                if symbol in self.costly:
                    function.uses[self.name(symbol)] += count
            self._forgive_metadata(function)
            if function.uses:
                found.append(function)
        return found

    def _forgive_metadata(self, function: Function) -> None:
        """Metadata of a log message is a dictionary that is written out, its names with it."""
        literals = sum(count for symbol, count in function.references.items() if "17dictionaryLiteralSD" in symbol)
        hashed = "protocol witness table for Swift.String : Swift.Hashable in Swift"
        is_metadata = any("7Logging6LoggerV13MetadataValue" in symbol for symbol in function.references)
        if is_metadata and function.uses.get(hashed, 0) <= literals:
            function.uses.pop(hashed, None)

    def place(self, function: Function) -> str:
        """The declaration that a function is of: closures within it are its own."""
        short = self.short.get(function.symbol, function.symbol)
        while (shorter := PARTS.sub("", short)) != short:
            short = shorter
        return f"{function.module}: {short}"


def entries(path: Path) -> list[str]:
    """The patterns of a list, each under a comment that says why."""
    found, reason = [], ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if line.startswith("#"):
            reason = line
        elif not line:
            reason = ""
        elif not reason:
            print(f"{path}:{number}: no reason stands above {line}", file=sys.stderr)
            raise SystemExit(1)
        else:
            found.append(line)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=REPOSITORY / ".build" / "debug")
    parser.add_argument("--trusted", type=Path, default=Path(__file__).with_name("trusted_text.txt"))
    parser.add_argument("--show", action="store_true", help="show what each use is")
    parser.add_argument("modules", nargs="*", metavar="MODULE=SOURCES")
    options = parser.parse_args()
    modules = {name: Path(path) for name, path in (each.split("=", 1) for each in options.modules)} or SOURCES
    program = Program(options.build, modules)
    trusted = entries(options.trusted)
    patterns = [re.compile(fnmatch.translate(each.replace("[", "[[]"))) for each in trusted]
    stands_for = [0] * len(trusted)
    found: dict[str, set[str]] = defaultdict(set)
    for function in program.findings():
        place = program.place(function)
        matches = [index for index, pattern in enumerate(patterns) if pattern.match(place)]
        for index in matches:
            stands_for[index] += 1
        if not matches:
            found[f"{place}  ({function.source})"] |= set(function.uses)
    for place, uses in sorted(found.items()):
        print(f"not by bytes: {place}")
        if options.show:
            print("".join(f"    {use}\n" for use in sorted(uses)), end="")
    idle = [entry for entry, count in zip(trusted, stands_for, strict=True) if count == 0]
    for entry in idle:
        print(f"stands for nothing: {entry}")
    print(f"{len(program.functions)} functions, {sum(stands_for)} listed, {len(found)} not by bytes, {len(idle)} idle entries")
    return 1 if found or idle else 0


if __name__ == "__main__":
    sys.exit(main())
