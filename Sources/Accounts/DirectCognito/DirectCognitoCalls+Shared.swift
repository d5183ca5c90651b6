internal import Cognito
internal import Encoding
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Steps and sessions of translated sign-ins that other gateways have begun. Each gateway has its own in memory, and
/// asks the database only for the others.
extension DirectCognitoCalls {
    /// Returns the sign-in of a step, whichever gateway issued it.
    ///
    /// - Throws: 503 if other gateways' steps cannot be read: an unknown step would be allowed fewer tries.
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

    /// Returns the claims of a refresh token's session, whichever gateway has seen it; nil if it is unknown.
    ///
    /// - Throws: 503 if other gateways' sessions cannot be read: a sign-out must not miss the access tokens.
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

    /// Shares a value with other gateways. If it cannot be stored, only this gateway has it.
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
    /// The form for the store; nil if a name is longer than Cognito accepts.
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
