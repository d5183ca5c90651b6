package import Cryptography
internal import Encoding
package import HTTPTypes
package import Pipeline

/// A request for a pool's hosted domain from an app or its browser, with its complete body.
package struct DirectHostedRequest: Sendable {
    package var direct: DirectCognitoRequest
    package var path: HostedPath
    package var method: HTTPRequest.Method
    /// The target's query as received, without the question mark.
    package var query: String
    package var contentType: String?
    package var authorization: Secret?

    /// - Parameter head: the request's head; its path must be `path`.
    package init(_ direct: DirectCognitoRequest, _ path: HostedPath, _ head: HTTPRequest) {
        self.direct = direct
        self.path = path
        method = head.method
        query = String(Substring((head.path ?? "").utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        contentType = head.headerFields[.contentType]
        authorization = head.headerFields[.authorization].map { Secret($0) }
    }

    /// The form in the body; nil if the body is not a form.
    var form: OAuthParameters? {
        let type = contentType.map { String(Substring($0.utf8.prefix { $0 != UInt8(ascii: ";") })).asciiLowercased }
        guard let type, type.hasSameBytes(as: "application/x-www-form-urlencoded"), direct.body.count <= 64 << 10,
            let text = String(validating: direct.body, as: UTF8.self)
        else { return nil }
        return OAuthParameters(text)
    }

    /// Returns the app client's ID in the form, or in the header of apps with a secret of their own. That secret is
    /// ignored: the gateway has the valid one.
    func clientID(_ form: OAuthParameters) -> String? {
        if let id = try? form.value("client_id", atMost: 256) { return id }
        guard let text = authorization?.exposeText(), text.asciiLowercased.begins(with: "basic "),
            let bytes = Base64.decode(text.utf8.dropFirst(6)), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return String(validating: bytes[..<colon], as: UTF8.self)
    }

    /// The token in `Authorization: Bearer`; nil if there is none.
    var bearer: Secret? {
        guard let text = authorization?.exposeText(), text.asciiLowercased.begins(with: "bearer ") else { return nil }
        return Secret(Array(text.utf8.dropFirst(7)))
    }
}

extension DirectHostedRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "DirectHostedRequest(\(path.rawValue), \(direct.requestID))" }
    package var customMirror: Mirror { Mirror(self, children: ["path": path.rawValue]) }
}
