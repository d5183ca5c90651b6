package import HTTPTypes

/// The header fields of a backend's response as the client gets them.
package enum ResponseFields {
    /// Removes hop-by-hop fields (RFC 9110 §7.6.1), sets the request ID and applies the route's rules.
    package static func forClient(
        _ fields: HTTPFields, requestID: String, rules: HeaderRules? = nil
    ) -> HTTPFields {
        var result = fields
        let nominated = inbound.connectionOptions(of: fields)
        for field in fields {
            let name = field.name.canonicalName
            let isRemoved = isHopByHop(name) || (!nominated.isEmpty && nominated.contains(name))
            if isRemoved || rules?.removed.contains(name) == true { result[field.name] = nil }
        }
        for field in rules?.set ?? [] { result.append(field) }
        result[.requestID] = requestID
        return result
    }

    /// `Connection` is parsed the same way in both directions.
    private static let inbound = InboundFields()

    static func isHopByHop(_ name: String) -> Bool {
        switch name.utf8.count {
        case 2: name == "te"
        case 7: name == "upgrade" || name == "trailer"
        case 10: name == "connection" || name == "keep-alive"
        case 12: name == "x-request-id"
        case 16: name == "proxy-connection"
        case 17: name == "transfer-encoding"
        case 18: name == "proxy-authenticate"
        default: false
        }
    }
}

extension HTTPField.Name {
    /// `X-Request-Id`, on every response.
    package static let requestID: HTTPField.Name = known("X-Request-Id")

    static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token") }
        return name
    }
}
