internal import Encoding
internal import Pipeline

/// The parameters of a query or a form (RFC 6749, 3.1 and 3.2).
struct OAuthParameters: Sendable {
    private let text: [UInt8]

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    /// Returns the value of a parameter; nil if it is missing or empty, which is equivalent.
    ///
    /// - Throws: if the parameter is repeated, is not UTF-8, is longer than `limit` bytes or contains control
    ///   characters.
    func value(_ name: String, atMost limit: Int = 1024) throws(OAuthParameterError) -> String? {
        let values = FormEncoding.values(of: name, in: text)
        guard let first = values.first else { return nil }
        guard values.count == 1, let value = first, value.utf8.count <= limit,
            value.utf8.span.firstIndex(where: { $0.bytes(below: 0x20) | $0.bytes(equalTo: 0x7F) }) == nil
        else { throw OAuthParameterError() }
        return value.isEmpty ? nil : value
    }

    /// Returns the parameters with these names as JSON, in the form that the API accepts.
    func object(_ names: [String]) throws(OAuthParameterError) -> JSONObject {
        var object: JSONObject = [:]
        for name in names { object[name] = try value(name, atMost: 16_384).map(JSON.string) }
        return object
    }
}

/// The error of a parameter that cannot be read, or is repeated.
struct OAuthParameterError: Error {}
