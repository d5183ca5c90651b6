internal import Cryptography
internal import Encoding

/// Checks the signature of an administrator's request (AWS Signature Version 4, in the `Authorization` header).
struct RequestSignature {
    let region: String

    private static let algorithm = "AWS4-HMAC-SHA256"
    /// The tolerated error of the client's clock, in seconds.
    private static let allowedSkew: Int64 = 300

    /// - Throws: the error with AWS's type and message.
    func check(
        _ request: LocalPoolRequest, _ credentials: SignatureVersion4.Credentials?, now: Int64
    ) throws(PoolError) {
        guard let authorization = request.header("authorization") else {
            throw PoolError(type: "MissingAuthenticationTokenException", message: "Missing Authentication Token")
        }
        let parts = try Self.parts(authorization)
        guard let credentials, parts.accessKeyID == credentials.accessKeyID else {
            throw PoolError(
                type: "UnrecognizedClientException", message: "The security token included in the request is invalid.")
        }
        let time = request.header("x-amz-date") ?? ""
        let scope = SignatureVersion4.Scope(time: time, region: region, service: "cognito-idp")
        guard parts.scope == scope.text else {
            throw Self.invalid("Credential should be scoped to a valid region, service and date.")
        }
        guard let signedAt = Timestamp.basicSeconds(time), abs(signedAt - now) <= Self.allowedSkew else {
            throw Self.invalid("Signature expired or not yet current: \(time)")
        }
        let expected = try signature(of: request, parts, scope, credentials.secretAccessKey)
        guard constantTimeEquals(Array(parts.signature.utf8), Array(expected.utf8)) else {
            throw Self.invalid("The request signature we calculated does not match the signature you provided.")
        }
    }

    /// Computes the correct signature of this request, over the headers that the client names.
    private func signature(
        of request: LocalPoolRequest, _ parts: Parts, _ scope: SignatureVersion4.Scope, _ secret: Secret
    ) throws(PoolError) -> String {
        let names = parts.signedHeaders.split(separator: ";").map(String.init)
        // Unsigned headers could have been modified in transit.
        guard Set(names).isSuperset(of: ["host", "x-amz-date", "x-amz-target"]) else {
            throw Self.invalid("host, x-amz-date and x-amz-target have to be signed.")
        }
        let headers = names.map { name in
            SignatureVersion4.Header(
                name: name,
                value: request.headers.filter { $0.name.lowercased() == name }.map(\.value).joined(separator: ","))
        }
        return SignatureVersion4(
            method: request.method, path: String(request.path), query: String(request.query), headers: headers,
            body: request.body, scope: scope
        ).signature(secret)
    }

    private struct Parts {
        var accessKeyID: String
        var scope: String
        var signedHeaders: String
        var signature: String
    }

    /// Parses `AWS4-HMAC-SHA256 Credential=<id>/<scope>, SignedHeaders=<a;b>, Signature=<hex>`.
    private static func parts(_ authorization: String) throws(PoolError) -> Parts {
        var values: [String: String] = [:]
        let pieces = authorization.split(maxSplits: 1, whereSeparator: { $0 == " " })
        if pieces.count == 2, pieces[0] == algorithm {
            for piece in pieces[1].split(separator: ",") {
                let pair = piece.split(separator: "=", maxSplits: 1)
                guard pair.count == 2 else { continue }
                values[String(pair[0].drop { $0 == " " })] = String(pair[1])
            }
        }
        guard let credential = values["Credential"], let slash = credential.firstIndex(of: "/"),
            let signedHeaders = values["SignedHeaders"], let signature = values["Signature"]
        else {
            throw PoolError(
                type: "IncompleteSignatureException",
                message: "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' parameters.")
        }
        return Parts(
            accessKeyID: String(credential[..<slash]), scope: String(credential[credential.index(after: slash)...]),
            signedHeaders: signedHeaders, signature: signature)
    }

    private static func invalid(_ message: String) -> PoolError {
        PoolError(type: "InvalidSignatureException", message: message)
    }
}
