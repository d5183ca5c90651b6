package import HTTPTypes

extension HTTPFields {
    /// Whether a list field (RFC 9110 §5.6.1) contains `element`, which must be in lower case, ignoring the field's
    /// case.
    package func lists(_ element: String, in name: HTTPField.Name) -> Bool {
        self[values: name].contains { $0.lists(element) }
    }
}

extension String {
    /// Whether a comma-separated list contains `element`, which must be in lower case, ignoring the list's case.
    ///
    /// It compares bytes: the time to compare characters grows quadratically with the combining marks of one.
    package func lists(_ element: String) -> Bool {
        utf8.split(separator: UInt8(ascii: ",")).contains { part in
            part.lazy.filter { $0 != Grammar.space && $0 != Grammar.tab }.map(Grammar.lowercased)
                .elementsEqual(element.utf8)
        }
    }
}

extension HTTPRequest {
    /// Represents an `Upgrade` as HTTP/2 does (RFC 8441 §4), for a request with `Connection: upgrade`.
    ///
    /// Only WebSocket is supported; other protocols are ignored. RFC 9110 §7.8: `Upgrade` in HTTP/1.0 must be ignored.
    mutating func noteUpgrade(_ line: RequestLine) {
        guard line.minorVersion == 1, method != .connect, headerFields.lists("websocket", in: .upgrade) else { return }
        extendedConnectProtocol = "websocket"
    }
}
