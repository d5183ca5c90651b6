internal import Encoding
internal import Store

extension UserPool {
    /// StartWebAuthnRegistration: the options for the creation of a passkey.
    func startWebAuthnRegistration(_ request: JSONObject) async throws -> JSONObject {
        let (user, claims) = try await signedIn(RequestFields(object: request))
        let party = try relyingParty()
        let challenge = Base64URL.encode(random(16))
        let record = ChallengeRecord(
            id: ChallengeRecord.id(of: challenge), sub: user.sub, clientID: claims.clientID, name: Self.registration,
            data: [:], expires: clock() + configuration.lifetimes.session)
        let existing = try await store.write { database in
            try record.insert(in: database)
            return try PasskeyRecord.all(of: user.sub, in: database).map(\.id)
        }
        return [
            "CredentialCreationOptions": .object(
                party.creationOptions(for: user, challenge: challenge, excluding: existing))
        ]
    }

    /// CompleteWebAuthnRegistration: verifies the authenticator's response to those options.
    func completeWebAuthnRegistration(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let credential = try fields.structure("Credential").object
        let (user, claims) = try await signedIn(fields)
        let party = try relyingParty()
        guard let challenge = Self.challenge(in: credential) else {
            throw PoolError.invalidParameter("Invalid credential.")
        }
        let now = clock()
        try await store.write { database in
            let record: ChallengeRecord
            do {
                record = try ChallengeRecord.take(challenge, in: database, now: now)
            } catch is PoolError {
                throw PoolError.passkeyChallengeNotFound
            }
            guard record.name == Self.registration, record.sub == user.sub else {
                throw PoolError.passkeyChallengeNotFound
            }
            guard record.clientID == claims.clientID else { throw PoolError.otherPasskeyClient }
            let registered: AuthenticatorData.Credential
            do throws(RelyingParty.Failure) {
                registered = try party.register(credential, challenge: challenge)
            } catch {
                throw PoolError(error)
            }
            let transports = credential["response"]?["transports"] ?? .array([])
            try PasskeyRecord(
                id: Base64URL.encode(registered.id), sub: user.sub, publicKey: registered.publicKey,
                signatureCount: 0, name: "Passkey \(Base64URL.encode(Array(registered.id.prefix(4))))",
                transports: transports.strings, attachment: credential["authenticatorAttachment"]?.stringValue,
                createdAt: now
            ).insert(in: database)
        }
        return [:]
    }

    /// ListWebAuthnCredentials: at most 20 per page.
    func listWebAuthnCredentials(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let maximum = request["MaxResults"]?.integerValue ?? 20
        guard (0...20).contains(maximum) else {
            throw RequestFields.violation("Value at 'maxResults'", "Member must have value less than or equal to 20")
        }
        let first = try fields.optional("NextToken").map { Int($0) ?? -1 } ?? 0
        guard first >= 0 else { throw PoolError.invalidParameter("Invalid NextToken.") }
        let (user, _) = try await signedIn(fields)
        let all = try await store.read { try PasskeyRecord.all(of: user.sub, in: $0) }
        let party = webAuthn?.relyingPartyID ?? ""
        let end = min(all.count, first + (maximum == 0 ? 20 : Int(maximum)))
        var answer: JSONObject = [
            "Credentials": .array(all[min(first, end)..<end].map { .object($0.description(relyingPartyID: party)) })
        ]
        if end < all.count { answer["NextToken"] = .string(String(end)) }
        return answer
    }

    /// DeleteWebAuthnCredential.
    func deleteWebAuthnCredential(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let id = try fields.required("CredentialId")
        let (user, _) = try await signedIn(fields)
        try await store.write { database in
            guard let passkey = try PasskeyRecord.find(id, of: user.sub, in: database) else {
                throw PoolError(type: "ResourceNotFoundException", message: "The passkey does not exist.")
            }
            try passkey.delete(in: database)
        }
        return [:]
    }

    /// GetUserAuthFactors: the first factors that the user has, and the enabled second factors.
    func getUserAuthFactors(_ request: JSONObject) async throws -> JSONObject {
        let (user, _) = try await signedIn(RequestFields(object: request))
        let allowed = LocalPoolConfiguration.FirstFactor.allCases.filter(
            configuration.passwordless.firstFactors.contains)
        let factors = try await factors(of: user, among: allowed)
        var answer: JSONObject = [
            "Username": .string(user.username),
            "ConfiguredUserAuthFactors": .array(factors.map { .string($0.rawValue) }),
        ]
        Self.addPreference(of: user, to: &answer)
        return answer
    }

    /// The name of the record of a pending registration, different from all challenges of a sign-in.
    private static let registration = "passkey registration"

    private func relyingParty() throws(PoolError) -> RelyingParty {
        guard configuration.passwordless.firstFactors.contains(.passkey) else { throw .passkeysNotEnabled }
        guard let webAuthn else { throw .passkeysNotConfigured }
        return RelyingParty(configuration: webAuthn)
    }

    private static func challenge(in credential: JSONObject) -> String? {
        guard let text = credential["response"]?["clientDataJSON"]?.stringValue,
            let bytes = Base64URL.decode(text.utf8.filter { $0 != UInt8(ascii: "=") })
        else { return nil }
        return (try? JSON.parse(bytes))?["challenge"]?.stringValue
    }
}

extension PasskeyRecord {
    /// WebAuthnCredentialDescription.
    fileprivate func description(relyingPartyID: String) -> JSONObject {
        var description: JSONObject = [
            "CredentialId": .string(id), "FriendlyCredentialName": .string(name),
            "RelyingPartyId": .string(relyingPartyID), "AuthenticatorTransports": .array(transports.map(JSON.string)),
            "CreatedAt": .number(JSONNumber(createdAt)),
        ]
        description["AuthenticatorAttachment"] = attachment.map(JSON.string)
        return description
    }
}

extension PoolError {
    fileprivate static let passkeysNotEnabled = PoolError(
        type: "WebAuthnNotEnabledException", message: "Passkeys are not enabled for the user pool.")
    static let passkeysNotConfigured = PoolError(
        type: "WebAuthnConfigurationMissingException", message: "The user pool has no relying party.")
    fileprivate static let passkeyChallengeNotFound = PoolError(
        type: "WebAuthnChallengeNotFoundException", message: "The challenge has expired.")
    fileprivate static let otherPasskeyClient = PoolError(
        type: "WebAuthnClientMismatchException", message: "The access token is of another client.")

    fileprivate init(_ failure: RelyingParty.Failure) {
        self =
            switch failure {
            case .notSupported:
                PoolError(
                    type: "WebAuthnCredentialNotSupportedException", message: "The credential is not supported.")
            case .otherRelyingParty:
                PoolError(
                    type: "WebAuthnRelyingPartyMismatchException", message: "The credential is another party's.")
            case .originNotAllowed:
                PoolError(type: "WebAuthnOriginNotAllowedException", message: "The origin is not allowed.")
            case .otherChallenge: .passkeyChallengeNotFound
            case .invalid: .invalidParameter("Invalid credential.")
            }
    }
}
