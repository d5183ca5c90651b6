internal import Encoding

/// The fields of a form in a request's body (WHATWG URL, 5.1).
struct FormFields: Sendable {
    private let text: String

    /// Nil if the body is not a form.
    init?(_ request: LocalPoolRequest) {
        let type = request.header("content-type")?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard type == "application/x-www-form-urlencoded", let text = String(validating: request.body, as: UTF8.self)
        else { return nil }
        self.text = text
    }

    /// - Throws: `invalid_request` for a field that is missing, empty or repeated (RFC 6749, 3.2).
    func required(_ name: String) throws(AppleError) -> String {
        let values = FormEncoding.values(of: name, in: text)
        guard values.count == 1, let value = values[0], !value.isEmpty else { throw .invalidRequest }
        return value
    }
}
