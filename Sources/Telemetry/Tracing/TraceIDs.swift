/// Which trace a line or span belongs to, and which span of it it is.
package struct TraceIDs: Sendable, Equatable {
    package var traceID: UInt128
    package var spanID: UInt64

    package init(traceID: UInt128, spanID: UInt64) {
        self.traceID = traceID
        self.spanID = spanID
    }

    /// 32 hexadecimal digits (Trace Context, §3.2.2.3).
    package var traceText: String {
        Self.text(UInt64(truncatingIfNeeded: traceID >> 64)) + Self.text(UInt64(truncatingIfNeeded: traceID))
    }
    /// 16 hexadecimal digits.
    package var spanText: String { Self.text(spanID) }

    private static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

extension [UInt8] {
    mutating func appendFields(_ ids: TraceIDs, format: LogFormat) {
        switch format {
        case .json:
            append(contentsOf: #","trace_id":""#.utf8)
            appendHexadecimal(UInt64(truncatingIfNeeded: ids.traceID >> 64))
            appendHexadecimal(UInt64(truncatingIfNeeded: ids.traceID))
            append(contentsOf: #"","span_id":""#.utf8)
            appendHexadecimal(ids.spanID)
            append(UInt8(ascii: "\""))
        case .text:
            appendTextField("trace_id", ids.traceText)
            appendTextField("span_id", ids.spanText)
        }
    }

    private mutating func appendHexadecimal(_ number: UInt64) {
        for shift in stride(from: 60, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 15
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
