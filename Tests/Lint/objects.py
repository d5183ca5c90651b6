"""The references of an object file's functions (ELF, 64 bits, little-endian), by its relocations."""

import bisect
import struct
from collections import defaultdict
from pathlib import Path

ALLOCATED = 2
SYMBOL_TABLE, RELOCATIONS = 2, 4
LOCAL = 0
OF_DATA, OF_CODE, OF_SECTION = 1, 2, 3
PROCEDURE = 0xFFF1  # from here on a section's number is none


class Section:
    def __init__(self, header, names):
        (name, self.kind, self.flags, _, self.offset, self.size, self.link, self.info, _, self.entry) = header
        self.name = names[name : names.index(b"\0", name)].decode() if names else ""


class Symbol:
    """A name in the file: where it is defined, if it is."""

    __slots__ = ("name", "kind", "is_local", "section", "value", "size")

    def __init__(self, name, info, section, value, size):
        self.name = name
        self.kind = info & 15
        self.is_local = info >> 4 == LOCAL
        self.section = section if 0 < section < PROCEDURE else None
        self.value = value
        self.size = size


class ObjectFile:
    """`references` is a list of pairs: the symbol in whose bytes a relocation is, and the one that it is to."""

    def __init__(self, path: Path):
        data = path.read_bytes()
        if data[:6] != b"\x7fELF\x02\x01":
            raise SystemExit(f"{path} is no little-endian ELF file of 64 bits")
        self.data = data
        (start,) = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3A)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + each * size) for each in range(count)]
        if count == 0:  # more than a 16-bit number can say
            first = struct.unpack_from("<IIQQQQIIQQ", data, start)
            count, names = first[5], first[6] if names == 0xFFFF else names
            headers = [struct.unpack_from("<IIQQQQIIQQ", data, start + each * size) for each in range(count)]
        text = data[headers[names][4] : headers[names][4] + headers[names][5]]
        self.sections = [Section(each, text) for each in headers]
        self.symbols = self._symbols()
        self.references = self._references()

    def _symbols(self):
        table = next(each for each in self.sections if each.kind == SYMBOL_TABLE)
        strings = self.sections[table.link]
        names = self.data[strings.offset : strings.offset + strings.size]
        content = self.data[table.offset : table.offset + table.size]
        return [
            Symbol(names[name : names.index(b"\0", name)].decode(), info, section, value, size)
            for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", content)
        ]

    def _references(self):
        places = defaultdict(list)
        for symbol in self.symbols:
            if symbol.section is not None and symbol.kind in (0, OF_DATA, OF_CODE) and symbol.name:
                places[symbol.section].append(symbol)
        for symbols in places.values():
            symbols.sort(key=lambda each: each.value)
        starts = {number: [each.value for each in symbols] for number, symbols in places.items()}

        def at(section, offset):
            index = bisect.bisect_right(starts.get(section, []), offset) - 1
            return places[section][index] if index >= 0 else None

        found = []
        for relocations in self.sections:
            if relocations.kind != RELOCATIONS:
                continue
            target = self.sections[relocations.info]
            if not target.flags & ALLOCATED or target.name.startswith(".eh_frame"):
                continue
            content = self.data[relocations.offset : relocations.offset + relocations.size]
            for offset, info, addend in struct.iter_unpack("<QQq", content):
                other = self.symbols[info >> 32]
                if other.kind == OF_SECTION and other.section is not None:
                    # A call counts from its end, four bytes on.
                    is_call = self.sections[other.section].flags & 4 and target.flags & 4
                    other = at(other.section, addend + (4 if is_call else 0)) or other
                found.append((at(relocations.info, offset), other, target.name))
        return found
