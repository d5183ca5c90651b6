internal import Encoding

/// Writes times in RFC 3339 format, in UTC with milliseconds: `2026-01-31T23:59:59.123Z`.
///
/// The text of the last second is cached, because consecutive log lines often share a second.
struct TimestampEncoder: Sendable {
    private var second: Int64?
    private var text: [UInt8] = []

    mutating func append(milliseconds: Int64, to bytes: inout [UInt8]) {
        let (second, millisecond) = milliseconds.quotientAndRemainder(flooringBy: 1000)
        if self.second != second {
            self.second = second
            text.removeAll(keepingCapacity: true)
            Timestamp.append(CivilTime(secondsSince1970: second), to: &text)
        }
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "."))
        for divisor: Int64 in [100, 10, 1] {
            bytes.append(UInt8(ascii: "0") + UInt8(millisecond / divisor % 10))
        }
        bytes.append(UInt8(ascii: "Z"))
    }
}
