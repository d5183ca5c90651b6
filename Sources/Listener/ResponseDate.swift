internal import Clocks
internal import Encoding
internal import HTTP1
internal import HTTPTypes
internal import NIOCore

// Each response has a `Date`: the backend's, or the time at which the gateway created or received it (RFC 9110 §6.6.1).

extension ResponsePart {
    /// The part itself, with `Date` added to a head without one.
    var dated: ResponsePart {
        guard case .head(var head) = self, !head.headerFields.contains(.date) else { return self }
        head.headerFields.append(HTTPField(name: .date, value: HTTPDate.text(WallClock.seconds())))
        return .head(head)
    }
}

extension EndToEndLines {
    /// The lines, with `Date` added if it is missing.
    var dated: EndToEndLines {
        guard !hasDate else { return self }
        var lines = self
        lines.bytes.writeString("Date: \(HTTPDate.text(WallClock.seconds()))\r\n")
        lines.hasDate = true
        return lines
    }
}
