internal import Cryptography
package import HTTPClient

/// The places where AWS's own tools look for credentials, in their order: the environment, the shared credentials file,
/// the container's endpoint, the instance's.
package actor AWSCredentialChain: AWSCredentialSource {
    /// The chain's sources and their dependencies.
    package struct Dependencies: Sendable {
        let environment: [String: String]
        /// Throws for a file that is not there.
        let readFile: @Sendable (String) throws -> [UInt8]
        /// Must be allowed to fetch without TLS, which these endpoints do not speak.
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

    /// So long before their end credentials are replaced, in seconds.
    private static let margin: Int64 = 300
    /// After so many seconds a place that gives no end is asked again: somebody may have changed what is there.
    private static let longestRest: Int64 = 300

    private let dependencies: Dependencies
    private var cached: (credentials: AWSCredentials, since: Int64)?
    private var lookup: Task<Result<AWSCredentials, AWSCredentialError>, Never>?

    package init(_ dependencies: Dependencies) {
        self.dependencies = dependencies
    }

    /// - Throws: why there are none. Credentials that are at hand are used until their end, whatever becomes of finding
    ///   new ones.
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
            // Credentials from the future were read before the clock was set back.
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

    /// The shared credentials file; nil where there is none.
    func fromFile() throws(AWSCredentialError) -> AWSCredentials? {
        let usual = value("HOME").map { "\($0)/.aws/credentials" }
        guard let path = value("AWS_SHARED_CREDENTIALS_FILE") ?? usual, let bytes = try? readFile(path) else {
            return nil
        }
        let profile = value("AWS_PROFILE")
        let entries = AWSCredentialsFile.entries(of: profile ?? "default", in: bytes)
        guard let id = entries["aws_access_key_id"], let secret = entries["aws_secret_access_key"] else {
            // An operator who names a profile does not want another's rights.
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

/// The form of the shared credentials file: sections in brackets, `name = value` lines, comments behind `#` or `;`.
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
