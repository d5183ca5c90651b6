internal import Encoding

/// A W3C trace context: the value of the `traceparent` header (Trace Context, §3.2).
///
/// A valid context from the client is passed on; otherwise a new trace begins.
package struct TraceContext: Sendable, Equatable {
    package var traceID: UInt128
    package var parentID: UInt64
    /// Bit 0: sampled.
    var flags: UInt8

    /// A new trace, not sampled. Zero IDs are invalid (§3.2.2.3), so a zero becomes one.
    package init(random: (UInt64, UInt64, UInt64)) {
        self.traceID = max(1, UInt128(random.0) << 64 | UInt128(random.1))
        self.parentID = max(1, random.2)
        self.flags = 0
    }

    /// A trace that continues with `parentID` as the parent of the next spans.
    package init(traceID: UInt128, parentID: UInt64, isSampled: Bool) {
        self.traceID = traceID
        self.parentID = parentID
        self.flags = isSampled ? 1 : 0
    }

    package var isSampled: Bool { flags & 1 != 0 }

    /// Parses a `traceparent` value; nil if the specification requires that it be ignored.
    ///
    /// Version 00 must match exactly. Of later versions, the known part is read if the value ends there or continues
    /// with `-`, and only the sampled flag is kept (§3.2.4). Version ff and upper case are invalid.
    package init?(parsing text: String) {
        let bytes = text.utf8.span
        guard bytes.count >= 55, bytes[2] == UInt8(ascii: "-"), bytes[35] == UInt8(ascii: "-"),
            bytes[52] == UInt8(ascii: "-"),
            let version = Self.number(bytes, 0, 2), version != 0xFF,
            let high = Self.number(bytes, 3, 16), let low = Self.number(bytes, 19, 16),
            let parent = Self.number(bytes, 36, 16), let flags = Self.number(bytes, 53, 2)
        else { return nil }
        guard bytes.count == 55 || (version > 0 && bytes[55] == UInt8(ascii: "-")) else { return nil }
        guard high | low != 0, parent != 0 else { return nil }
        self.traceID = UInt128(high) << 64 | UInt128(low)
        self.parentID = parent
        self.flags = version == 0 ? UInt8(flags) : UInt8(flags & 1)
    }

    /// Appends the value in version 00: 55 bytes.
    package func append(to bytes: inout OutputSpan<UInt8>) {
        bytes.append("00-")
        bytes.append(hexadecimal: UInt64(truncatingIfNeeded: traceID >> 64))
        bytes.append(hexadecimal: UInt64(truncatingIfNeeded: traceID))
        bytes.append("-")
        bytes.append(hexadecimal: parentID)
        bytes.append("-")
        bytes.append(hexadecimal: flags)
    }

    /// The number written with `count` lower-case hexadecimal digits.
    private static func number(_ bytes: borrowing Span<UInt8>, _ start: Int, _ count: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in start..<start + count {
            switch bytes[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(bytes[index] - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                value = value << 4 | UInt64(bytes[index] - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }
}
