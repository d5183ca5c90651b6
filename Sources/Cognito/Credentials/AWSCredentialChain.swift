internal import Cryptography
package import HTTPClient

/// The credential sources of AWS's own tools, in their order: the environment, the shared credentials file, the
/// container endpoint, the instance metadata service.
package actor AWSCredentialChain: AWSCredentialSource {
    /// The chain's sources and their dependencies.
    package struct Dependencies: Sendable {
        let environment: [String: String]
        /// Throws if the file does not exist.
        let readFile: @Sendable (String) throws -> [UInt8]
        /// Must allow requests without TLS, which these endpoints do not support.
        let fetcher: any Fetcher
        let now: @Sendable () -> Int64

        package init(
            environment: [String: String], readFile: @escaping @Sendable (String) throws -> [UInt8],
            fetcher: any Fetcher, now: @escaping @Sendable () -> Int64
        ) {
            self.environment = environment
            self.readFile = readFile
            self.fetcher = fetcher
            self.now = now
        }
    }

    /// The time before expiry at which credentials are replaced, in seconds.
    private static let margin: Int64 = 300
    /// The age in seconds at which credentials without an expiry are read again, since the source may have changed.
    private static let longestRest: Int64 = 300

    private let dependencies: Dependencies
    private var cached: (credentials: AWSCredentials, since: Int64)?
    private var lookup: Task<Result<AWSCredentials, AWSCredentialError>, Never>?

    package init(_ dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// Returns credentials that have not expired, looking up new ones when the cached ones are about to expire.
    ///
    /// - Throws: the error of the lookup. Cached credentials are used until they expire, even if the lookup fails.
    package func credentials() async throws(AWSCredentialError) -> AWSCredentials {
        if let cached, isFresh(cached) { return cached.credentials }
        let lookup = self.lookup ?? Task { [dependencies] in await Self.find(dependencies) }
        self.lookup = lookup
        let found = await lookup.value
        self.lookup = nil
        switch found {
        case .success(let credentials):
            cached = (credentials, dependencies.now())
            return credentials
        case .failure(let error):
            guard let cached, let end = cached.credentials.expiresAt, end > dependencies.now() else { throw error }
            return cached.credentials
        }
    }

    private func isFresh(_ cached: (credentials: AWSCredentials, since: Int64)) -> Bool {
        guard let end = cached.credentials.expiresAt else {
            // A negative age means that the clock was set back after the credentials were read.
            return (0..<Self.longestRest).contains(dependencies.now() - cached.since)
        }
        return end - dependencies.now() > Self.margin
    }

    private static func find(_ dependencies: Dependencies) async -> Result<AWSCredentials, AWSCredentialError> {
        do throws(AWSCredentialError) {
            if let found = dependencies.fromEnvironment() { return .success(found) }
            if let found = try dependencies.fromFile() { return .success(found) }
            if let found = try await dependencies.fromContainer() { return .success(found) }
            if let found = try await dependencies.fromInstance() { return .success(found) }
            return .failure(.none)
        } catch {
            return .failure(error)
        }
    }
}

extension AWSCredentialChain.Dependencies {
    func fromEnvironment() -> AWSCredentials? {
        guard let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") else { return nil }
        return AWSCredentials(
            accessKeyID: id, secretAccessKey: Secret(secret),
            sessionToken: value("AWS_SESSION_TOKEN").map { Secret($0) })
    }

    /// Reads the shared credentials file; nil if there is none.
    func fromFile() throws(AWSCredentialError) -> AWSCredentials? {
        let usual = value("HOME").map { "\($0)/.aws/credentials" }
        guard let path = value("AWS_SHARED_CREDENTIALS_FILE") ?? usual, let bytes = try? readFile(path) else {
            return nil
        }
        let profile = value("AWS_PROFILE")
        let entries = AWSCredentialsFile.entries(of: profile ?? "default", in: bytes)
        guard let id = entries["aws_access_key_id"], let secret = entries["aws_secret_access_key"] else {
            // An operator who names a profile does not want the rights of another.
            if profile != nil { throw .unusable }
            return nil
        }
        return AWSCredentials(
            accessKeyID: id, secretAccessKey: Secret(secret),
            sessionToken: entries["aws_session_token"].map { Secret($0) })
    }

    func value(_ name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }
}

/// The format of the shared credentials file: sections in brackets, `name = value` lines, comments after `#` or `;`.
enum AWSCredentialsFile {
    static func entries(of profile: String, in bytes: [UInt8]) -> [String: String] {
        var entries: [String: String] = [:]
        var isInProfile = false
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let text = trimmed(line)
            guard let first = text.first, first != "#", first != ";" else { continue }
            if first == "[" {
                isInProfile = trimmed(text.dropFirst().prefix { $0 != "]" }) == profile
            } else if isInProfile, let equals = text.firstIndex(of: "=") {
                entries[trimmed(text[..<equals]).lowercased()] = trimmed(text[text.index(after: equals)...])
            }
        }
        return entries
    }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let rest = text.drop { $0 == " " || $0 == "\t" }
        let blanks = rest.reversed().prefix { $0 == " " || $0 == "\t" }.count
        return String(rest.dropLast(blanks))
    }
}
