internal import Encoding

/// The ids of a trace and of a span in it.
package struct TraceIDs: Sendable, Equatable {
    package var traceID: UInt128
    package var spanID: UInt64

    package init(traceID: UInt128, spanID: UInt64) {
        self.traceID = traceID
        self.spanID = spanID
    }

    /// The trace id as 32 hexadecimal digits (Trace Context, §3.2.2.3).
    var traceText: String { Hexadecimal.encode(traceID) }
    /// The span id as 16 hexadecimal digits.
    var spanText: String { Hexadecimal.encode(spanID) }
}

extension [UInt8] {
    mutating func appendFields(_ ids: TraceIDs, _ names: LogNames) {
        append(addingCapacity: 80) { line in
            line.append(",\"")
            line.append(names[.traceID])
            line.append("\":\"")
            line.append(hexadecimal: UInt64(truncatingIfNeeded: ids.traceID >> 64))
            line.append(hexadecimal: UInt64(truncatingIfNeeded: ids.traceID))
            line.append("\",\"")
            line.append(names[.spanID])
            line.append("\":\"")
            line.append(hexadecimal: ids.spanID)
            line.append("\"")
        }
    }

    mutating func appendTextFields(_ ids: TraceIDs) {
        appendTextField("trace_id", ids.traceText)
        appendTextField("span_id", ids.spanText)
    }
}
