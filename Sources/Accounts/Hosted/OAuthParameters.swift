internal import Encoding
internal import Pipeline

/// The parameters of a query or a form (RFC 6749, 3.1 and 3.2).
struct OAuthParameters: Sendable {
    private let text: [UInt8]

    init(_ text: String) {
        self.text = Array(text.utf8)
    }

    /// The value; nil if it isn't there or is empty, which is the same.
    ///
    /// - Throws: for a parameter that is there twice, is no UTF-8, is longer than `limit` bytes or holds controls.
    func value(_ name: String, atMost limit: Int = 1024) throws(OAuthParameterError) -> String? {
        let values = FormEncoding.values(of: name, in: text)
        guard let first = values.first else { return nil }
        guard values.count == 1, let value = first, value.utf8.count <= limit,
            value.utf8.span.firstIndex(where: { $0.bytes(below: 0x20) | $0.bytes(equalTo: 0x7F) }) == nil
        else { throw OAuthParameterError() }
        return value.isEmpty ? nil : value
    }

    /// The parameters with these names as JSON, which the API takes in the same places.
    func object(_ names: [String]) throws(OAuthParameterError) -> JSONObject {
        var object: JSONObject = [:]
        for name in names { object[name] = try value(name, atMost: 16_384).map(JSON.string) }
        return object
    }
}

/// A parameter that cannot be read, or is there twice.
struct OAuthParameterError: Error {}
