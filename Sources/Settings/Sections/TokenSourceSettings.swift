internal import Pipeline
internal import SettingsReader

extension TokenSources {
    /// Reads a route's `token_cookie` and `token_websocket_protocol`.
    static func of(_ keys: SettingsMapping, access: Access, hasWebSocket: Bool) -> TokenSources? {
        let sources = TokenSources(
            cookie: keys.value("token_cookie", .token),
            webSocketProtocol: keys.value("token_websocket_protocol", .token))
        for key in ["token_cookie", "token_websocket_protocol"] where access == .public && keys.has(key) {
            keys.error(key, "has no effect on a public route")
        }
        if access != .public, !hasWebSocket {
            keys.error("token_websocket_protocol", "has no effect without websocket")
        }
        return sources == TokenSources() ? nil : sources
    }
}

extension ScalarFormat where Value == String {
    /// A token, the syntax of cookie and subprotocol names (RFC 9110 §5.6.2).
    fileprivate static var token: Self {
        Self { (text) throws(ScalarRefusal) in
            let isToken = text.utf8.allSatisfy { byte in
                let character = Character(Unicode.Scalar(byte))
                return byte < 0x80
                    && (character.isLetter || character.isNumber || "!#$%&'*+-.^_`|~".contains(character))
            }
            guard isToken, (1...64).contains(text.utf8.count) else {
                throw ScalarRefusal("must be 1 to 64 letters, digits or other characters of a name, such as \"_\"")
            }
            return text
        }
    }
}
