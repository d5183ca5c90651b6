internal import Encoding

/// A request to sign with AWS Signature Version 4, for services other than S3.
///
/// Both sides use this: the signer puts ``authorization(_:)`` into the `Authorization` header, and the verifier
/// compares ``signature(_:)`` with the received one.
package struct SignatureVersion4: Sendable {
    /// A header line as signed: the name in lower case, the value trimmed and with single spaces.
    package struct Header: Sendable, Equatable {
        let name: String
        let value: String

        package init(name: String, value: String) {
            self.name = name.lowercased()
            self.value = value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
        }
    }

    /// The day, region and service for which the signature is valid.
    package struct Scope: Sendable, Equatable {
        /// `yyyyMMddTHHmmssZ`, as in `X-Amz-Date`.
        package var time: String
        package var region: String
        package var service: String

        package init(time: String, region: String, service: String) {
            self.time = time
            self.region = region
            self.service = service
        }

        package var date: String { String(time.prefix(8)) }
        package var text: String { "\(date)/\(region)/\(service)/aws4_request" }
    }

    package struct Credentials: Sendable {
        package var accessKeyID: String
        package var secretAccessKey: Secret

        package init(accessKeyID: String, secretAccessKey: Secret) {
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
        }
    }

    private let method: String
    private let path: String
    private let query: String
    private let headers: [Header]
    private let bodyHash: String
    private let scope: Scope

    /// - Parameters:
    ///   - path: As sent, already percent-encoded.
    ///   - query: As sent, its parameters already encoded and in order; empty if there is none.
    ///   - headers: The signed ones, which must include `host`.
    package init(
        method: String, path: String, query: String = "", headers: [Header], body: [UInt8], scope: Scope
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers.sorted { $0.name < $1.name }
        bodyHash = Hexadecimal.encode(SHA256.hash(body))
        self.scope = scope
    }

    package var signedHeaders: String { headers.map(\.name).joined(separator: ";") }

    /// The signature, in lower-case hexadecimal digits.
    package func signature(_ secretAccessKey: Secret) -> String {
        var key = Array("AWS4".utf8) + secretAccessKey.expose()
        for part in [scope.date, scope.region, scope.service, "aws4_request"] {
            key = HMACSHA256.authenticationCode(for: Array(part.utf8), key: key)
        }
        return Hexadecimal.encode(HMACSHA256.authenticationCode(for: Array(stringToSign.utf8), key: key))
    }

    /// The value of the `Authorization` header.
    package func authorization(_ credentials: Credentials) -> String {
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope.text), SignedHeaders=\(signedHeaders), "
            + "Signature=\(signature(credentials.secretAccessKey))"
    }

    private var stringToSign: String {
        let hash = Hexadecimal.encode(SHA256.hash(Array(canonicalRequest.utf8)))
        return "AWS4-HMAC-SHA256\n\(scope.time)\n\(scope.text)\n\(hash)"
    }

    private var canonicalRequest: String {
        let lines = headers.map { "\($0.name):\($0.value)\n" }.joined()
        return "\(method)\n\(path)\n\(query)\n\(lines)\n\(signedHeaders)\n\(bodyHash)"
    }
}
