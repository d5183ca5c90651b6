internal import Cryptography
internal import Encoding
internal import HTTPClient

// The endpoints from which containers and instances get the credentials of their role.
extension AWSCredentialChain.Dependencies {
    /// The time limit of one request. The endpoints are on the same machine, or one hop away.
    private static let deadline = Duration.seconds(2)

    // MARK: Containers

    /// Reads ECS (`AWS_CONTAINER_CREDENTIALS_RELATIVE_URI`) and EKS (`…_FULL_URI`) credentials; nil outside both.
    func fromContainer() async throws(AWSCredentialError) -> AWSCredentials? {
        guard let url = try containerURL() else { return nil }
        var headers: [(name: String, value: String)] = []
        if let token = try containerToken() { headers.append((name: "Authorization", value: token)) }
        let answer = try await fetch("GET", url, headers)
        guard let credentials = Self.credentials(answer) else { throw .unusable }
        return credentials
    }

    private func containerURL() throws(AWSCredentialError) -> String? {
        if let path = value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            guard path.utf8.first == UInt8(ascii: "/") else { throw .unusable }
            return "http://169.254.170.2\(path)"
        }
        guard let url = value("AWS_CONTAINER_CREDENTIALS_FULL_URI") else { return nil }
        guard url.hasPrefix("https://") || Self.isLocal(url) else { throw .unusable }
        return url
    }

    /// Returns whether a URL without TLS may get the token and return credentials: only this machine, and the
    /// link-local addresses of ECS and EKS.
    private static func isLocal(_ url: String) -> Bool {
        guard url.hasPrefix("http://") else { return false }
        let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !authority.contains("@") else { return false }
        if authority.hasPrefix("[") { return ["[::1]", "[fd00:ec2::23]"].contains { authority.hasPrefix($0) } }
        let host = authority.prefix { $0 != ":" }
        return ["localhost", "127.0.0.1", "169.254.170.2", "169.254.170.23"].contains(String(host))
    }

    private func containerToken() throws(AWSCredentialError) -> String? {
        guard let path = value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") else {
            return value("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        }
        guard let bytes = try? readFile(path) else { throw .unusable }
        let token = String(decoding: bytes, as: UTF8.self)
        return String(token.prefix { !$0.isNewline })
    }

    // MARK: Instances

    /// Reads the instance metadata service, version 2; nil if it does not respond.
    func fromInstance() async throws(AWSCredentialError) -> AWSCredentials? {
        guard value("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else { return nil }
        let base = value("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        let root = base.hasSuffix("/") ? String(base.dropLast()) : base
        let lifetime = (name: "X-aws-ec2-metadata-token-ttl-seconds", value: "21600")
        guard let token = try? await fetch("PUT", "\(root)/latest/api/token", [lifetime]) else { return nil }
        let header = (name: "X-aws-ec2-metadata-token", value: String(decoding: token, as: UTF8.self))
        let roles = "\(root)/latest/meta-data/iam/security-credentials/"
        let names = String(decoding: try await fetch("GET", roles, [header]), as: UTF8.self)
        guard let role = names.split(whereSeparator: \.isNewline).first else { throw .unusable }
        guard let credentials = Self.credentials(try await fetch("GET", roles + role, [header])) else {
            throw .unusable
        }
        return credentials
    }

    // MARK: Answers

    private func fetch(
        _ method: String, _ url: String, _ headers: [(name: String, value: String)]
    ) async throws(AWSCredentialError) -> [UInt8] {
        do {
            let answer = try await fetcher.fetch(
                FetchRequest(
                    method: method, url: url, headers: headers, deadline: Self.deadline,
                    maximumResponseBytes: 64 << 10))
            guard answer.status == 200 else { throw AWSCredentialError.unusable }
            return answer.body
        } catch {
            throw .unusable
        }
    }

    private static func credentials(_ bytes: [UInt8]) -> AWSCredentials? {
        guard let json = try? JSON.parse(bytes), let id = json["AccessKeyId"]?.stringValue,
            let secret = json["SecretAccessKey"]?.stringValue
        else { return nil }
        return AWSCredentials(
            accessKeyID: id, secretAccessKey: Secret(secret),
            sessionToken: json["Token"]?.stringValue.map { Secret($0) },
            expiresAt: json["Expiration"]?.stringValue.flatMap { Timestamp.seconds($0) })
    }
}
