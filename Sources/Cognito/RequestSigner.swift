internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import Pipeline

/// Signs calls to Cognito with AWS Signature Version 4.
package struct RequestSigner: Sendable {
    private let region: String
    private let credentials: any AWSCredentialSource
    private let now: @Sendable () -> Int64

    /// - Parameters:
    ///   - region: the AWS region of the pool.
    ///   - now: seconds since 1970.
    package init(region: String, credentials: any AWSCredentialSource, now: @escaping @Sendable () -> Int64) {
        self.region = region
        self.credentials = credentials
        self.now = now
    }

    /// Returns the request with the signature's headers.
    ///
    /// - Throws: an error of kind ``CognitoErrorKind/credentialsMissing`` if there are no AWS credentials.
    func signed(_ request: FetchRequest) async throws(CognitoError) -> FetchRequest {
        let credentials: AWSCredentials
        do {
            credentials = try await self.credentials.credentials()
        } catch {
            throw CognitoError(credentialsMissing: error)
        }
        var signed = request
        let time = Timestamp.basicText(now())
        signed.headers.append((name: "X-Amz-Date", value: time))
        if let token = credentials.sessionToken {
            signed.headers.append((name: "X-Amz-Security-Token", value: token.exposeText()))
        }
        let (host, path) = Self.hostAndPath(of: request.url)
        let headers =
            signed.headers.map { SignatureVersion4.Header(name: $0.name, value: $0.value) }
            + [SignatureVersion4.Header(name: "host", value: host)]
        let signature = SignatureVersion4(
            method: request.method, path: path, headers: headers, body: request.body ?? [],
            scope: SignatureVersion4.Scope(time: time, region: region, service: "cognito-idp"))
        let authorization = signature.authorization(
            SignatureVersion4.Credentials(
                accessKeyID: credentials.accessKeyID, secretAccessKey: credentials.secretAccessKey))
        signed.headers.append((name: "Authorization", value: authorization))
        return signed
    }

    /// Returns the path, and the `Host` that is sent: without the scheme's default port.
    static func hostAndPath(of url: String) -> (host: String, path: String) {
        let isSecure = url.hasPrefix("https://")
        let rest = url.split(separator: "://", maxSplits: 1).last ?? ""
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        var host = String(rest[..<slash])
        let standardPort = isSecure ? ":443" : ":80"
        if host.hasSuffix(standardPort) { host.removeLast(standardPort.count) }
        let path = String(rest[slash...])
        return (host, path.isEmpty ? "/" : path)
    }
}

extension CognitoError {
    init(credentialsMissing error: AWSCredentialError) {
        self.init(unavailable: error.rawValue)
        kind = .credentialsMissing
    }
}
