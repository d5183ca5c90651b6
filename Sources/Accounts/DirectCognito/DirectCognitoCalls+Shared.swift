internal import Cognito
internal import Encoding
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Steps and sessions of translated sign-ins that other gateways have begun. Each gateway's own are in its memory, so
/// that the database is asked for the others alone.
extension DirectCognitoCalls {
    /// The sign-in that a step is of, whichever gateway gave it.
    ///
    /// - Throws: 503 where other gateways' cannot be looked up: an unknown step would have fewer tries than it may.
    func findStep(_ digests: [String]) async throws(DirectCognitoRefusal) -> SignInSteps.Finding {
        let missing = steps.unknown(digests)
        for found in try await sharedValues(.signInStep, missing) {
            guard let signIn = SignInUnderWay(bytes: found.value) else { continue }
            steps.note(signIn, by: [found.key])
        }
        return steps.find(digests)
    }

    func noteStep(_ signIn: SignInUnderWay, by digests: [String]) async {
        steps.note(signIn, by: digests)
        guard !digests.isEmpty, let bytes = signIn.bytes else { return }
        await share(bytes, .signInStep, by: digests, seconds: SignInSteps.lifetime)
    }

    /// The claims of a refresh token's session, whichever gateway gave the token.
    ///
    /// - Throws: 503 where other gateways' cannot be looked up: a sign-out must not miss its access tokens.
    func sessionClaims(by digest: String?) async throws(DirectCognitoRefusal) -> JSONObject? {
        guard let digest else { return nil }
        if let known = sessions.claims(by: digest) { return known }
        let found = try await sharedValues(.directSession, [digest]).first
        guard let claims = found.flatMap({ try? JSON.parse($0.value) })?.objectValue else { return nil }
        sessions.learn(claims, by: digest)
        return claims
    }

    func noteSession(_ claims: JSONObject, by digest: String) async {
        guard let new = sessions.note(claims, by: digest), let shared else { return }
        let share: UnsharedSessions.Share = { session, digest in
            try await shared.keep(session, .directSession, by: [digest], seconds: DirectSessions.sharedLifetime)
        }
        do {
            try await share(new.encoded(), digest)
        } catch {
            reportUnshared(.directSession, error)
            sessions.shareAgain(new.encoded(), by: digest, share: share)
        }
    }

    private func sharedValues(
        _ kind: ShortLivedKind, _ names: [String]
    ) async throws(DirectCognitoRefusal) -> [ShortLivedValue] {
        guard let shared, !names.isEmpty else { return [] }
        do {
            return try await shared.values(kind, by: names)
        } catch {
            logger.error(
                "what other gateways know cannot be read", metadata: ["kind": "\(kind.rawValue)", "error": "\(error)"])
            throw .unavailable(.account(.sessionRecordsUnavailable))
        }
    }

    /// A value that is not stored is known to this gateway alone.
    private func share(_ value: [UInt8], _ kind: ShortLivedKind, by names: [String], seconds: Int64) async {
        guard let shared else { return }
        do {
            try await shared.keep(value, kind, by: names, seconds: seconds)
        } catch {
            reportUnshared(kind, error)
        }
    }

    private func reportUnshared(_ kind: ShortLivedKind, _ error: any Error) {
        logger.error(
            "what other gateways need is not stored", metadata: ["kind": "\(kind.rawValue)", "error": "\(error)"])
    }
}

extension SignInUnderWay {
    /// For the store; nil for names that are longer than Cognito takes.
    fileprivate var bytes: [UInt8]? {
        var writer = ByteWriter()
        writer.write(byte: isPasswordProven ? 1 : 0)
        let written = writer.write(text: account) && usernames.allSatisfy { writer.write(text: $0.text) }
        return written ? writer.bytes : nil
    }

    fileprivate init?(bytes: [UInt8]) {
        var reader = ByteReader(bytes)
        guard let flag = reader.readByte(), flag <= 1, let account = reader.readText() else { return nil }
        self.init(account: account)
        isPasswordProven = flag == 1
        while !reader.isAtEnd {
            guard let name = reader.readText() else { return nil }
            usernames.append(ExactText(name))
        }
    }
}
