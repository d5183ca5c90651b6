package import HTTPTypes

extension HTTPFields {
    /// Whether a list field (RFC 9110 §5.6.1) has this element, whatever the case.
    package func lists(_ element: String, in name: HTTPField.Name) -> Bool {
        self[values: name].contains { $0.lists(element) }
    }
}

extension String {
    /// Whether the text, a list of names, has this one, which is in lower case.
    ///
    /// By bytes: comparing characters takes time that grows with the square of the marks of one.
    package func lists(_ element: String) -> Bool {
        utf8.split(separator: UInt8(ascii: ",")).contains { part in
            part.lazy.filter { $0 != Grammar.space && $0 != Grammar.tab }.map(Grammar.lowercased)
                .elementsEqual(element.utf8)
        }
    }
}

extension HTTPRequest {
    /// Says as HTTP/2 says it (RFC 8441 §4) what a request with `Connection: upgrade` asks the connection to become.
    ///
    /// WebSocket is all that may come of it; other protocols are none the gateway speaks. RFC 9110 §7.8: HTTP/1.0's
    /// `Upgrade` is to be ignored.
    mutating func noteUpgrade(_ line: RequestLine) {
        guard line.minorVersion == 1, method != .connect, headerFields.lists("websocket", in: .upgrade) else { return }
        extendedConnectProtocol = "websocket"
    }
}
