internal import Cryptography
internal import Encoding

/// The pool as a relying party: its options for authenticators, and the verification of their responses (WebAuthn Level
/// 3, 7.1 and 7.2).
struct RelyingParty: Sendable {
    /// The reason why a response is refused, by Cognito's exceptions.
    enum Failure: Error, Equatable {
        case notSupported, otherRelyingParty, originNotAllowed, otherChallenge, invalid
    }

    let configuration: LocalPoolConfiguration.WebAuthn

    /// PublicKeyCredentialCreationOptionsJSON, excluding the passkeys that the user already has.
    func creationOptions(for user: UserRecord, challenge: String, excluding ids: [String]) -> JSONObject {
        // Authenticators show this name: the user name, or the address that replaces it.
        let name = user.chosenName ?? (user.email.isEmpty ? user.phoneNumber ?? user.sub : user.email)
        return [
            "rp": ["id": .string(configuration.relyingPartyID), "name": .string(configuration.relyingPartyID)],
            "user": [
                "id": .string(Base64URL.encode(Array(user.sub.utf8))), "name": .string(name),
                "displayName": .string(name),
            ],
            "challenge": .string(challenge),
            "pubKeyCredParams": .array(
                CredentialKey.algorithms.map { ["type": "public-key", "alg": .number(JSONNumber($0))] }),
            "timeout": 60_000,
            "excludeCredentials": Self.descriptors(ids),
            "authenticatorSelection": [
                "requireResidentKey": true, "residentKey": "required",
                "userVerification": .string(configuration.userVerification.rawValue),
            ],
        ]
    }

    /// PublicKeyCredentialRequestOptionsJSON.
    func requestOptions(challenge: String, allowing ids: [String]) -> JSONObject {
        [
            "challenge": .string(challenge), "timeout": 180_000, "rpId": .string(configuration.relyingPartyID),
            "allowCredentials": Self.descriptors(ids),
            "userVerification": .string(configuration.userVerification.rawValue),
        ]
    }

    private static func descriptors(_ ids: [String]) -> JSON {
        .array(ids.map { ["type": "public-key", "id": .string($0)] })
    }

    /// Verifies a RegistrationResponseJSON to `challenge` and returns the new credential.
    ///
    /// Attestation identifies the authenticator's manufacturer; like Cognito, this accepts only none and self
    /// attestation.
    func register(_ response: JSONObject, challenge: String) throws(Failure) -> AuthenticatorData.Credential {
        let clientData = try clientData(response, type: "webauthn.create", challenge: challenge)
        guard let object = Self.bytes(response["response"]?["attestationObject"]),
            let attestation = try? CBORReader.value(of: object), let encoded = attestation["authData"]?.bytesValue,
            let data = try? AuthenticatorData(encoded), let credential = data.credential
        else { throw .invalid }
        try check(data)
        guard Self.bytes(response["id"]) == credential.id else { throw .invalid }
        guard let key = try? CredentialKey(credential.publicKey) else { throw .notSupported }
        let statement = attestation["attStmt"]
        switch attestation["fmt"]?.textValue {
        case "none" where statement?.mapValue?.isEmpty == true: break
        case "packed":
            // Self attestation has no certificates (8.2).
            guard let statement, statement["x5c"] == nil, statement["alg"] == .integer(key.algorithm) else {
                throw .notSupported
            }
            guard let signature = statement["sig"]?.bytesValue,
                key.verifies(signature, of: encoded + SHA256.hash(clientData))
            else { throw .invalid }
        default: throw .notSupported
        }
        return credential
    }

    /// Verifies an AuthenticationResponseJSON to `challenge`, made with `passkey`.
    ///
    /// - Returns: the authenticator's signature counter.
    func verify(_ response: JSONObject, challenge: String, passkey: PasskeyRecord) throws(Failure) -> Int64 {
        let clientData = try clientData(response, type: "webauthn.get", challenge: challenge)
        guard let encoded = Self.bytes(response["response"]?["authenticatorData"]),
            let signature = Self.bytes(response["response"]?["signature"]),
            let data = try? AuthenticatorData(encoded), let key = try? CredentialKey(passkey.publicKey)
        else { throw .invalid }
        try check(data)
        if let handle = response["response"]?["userHandle"], handle != .null {
            guard Self.bytes(handle) == Array(passkey.sub.utf8) else { throw .invalid }
        }
        guard key.verifies(signature, of: encoded + SHA256.hash(clientData)) else { throw .invalid }
        // A counter that does not increase may be that of a cloned authenticator (7.2, step 22).
        let count = Int64(data.signatureCount)
        guard count > passkey.signatureCount || count == 0 && passkey.signatureCount == 0 else { throw .invalid }
        return count
    }

    private func check(_ data: AuthenticatorData) throws(Failure) {
        let expected = SHA256.hash(Array(configuration.relyingPartyID.utf8))
        guard constantTimeEquals(data.relyingPartyHash, expected) else { throw .otherRelyingParty }
        guard data.isUserPresent else { throw .invalid }
        guard data.isUserVerified || configuration.userVerification == .preferred else { throw .invalid }
    }

    /// The client data, which is part of the signed data (5.8.1), after checks of type, challenge and origin.
    private func clientData(_ response: JSONObject, type: String, challenge: String) throws(Failure) -> [UInt8] {
        guard response["type"] == "public-key", let bytes = Self.bytes(response["response"]?["clientDataJSON"]),
            let data = (try? JSON.parse(bytes))?.objectValue, data["type"] == .string(type),
            let given = data["challenge"]?.stringValue, let origin = data["origin"]?.stringValue
        else { throw .invalid }
        guard constantTimeEquals(Array(given.utf8), Array(challenge.utf8)) else { throw .otherChallenge }
        guard accepts(origin), data["crossOrigin"] != true else { throw .originNotAllowed }
        return bytes
    }

    /// Whether the origin belongs to the relying party's domain or a subdomain, or is listed.
    private func accepts(_ origin: String) -> Bool {
        if configuration.origins.contains(where: { $0.utf8.elementsEqual(origin.utf8) }) { return true }
        guard origin.utf8.starts(with: "https://".utf8) else { return false }
        let host = origin.utf8.dropFirst("https://".utf8.count).prefix { $0 != UInt8(ascii: ":") }
        let identifier = configuration.relyingPartyID.utf8
        guard host.count > identifier.count else { return host.elementsEqual(identifier) }
        return host.suffix(identifier.count + 1).elementsEqual([UInt8(ascii: ".")] + Array(identifier))
    }

    private static func bytes(_ value: JSON?) -> [UInt8]? {
        // Some platforms add padding, which the specification does not have.
        value?.stringValue.flatMap { text in Base64URL.decode(text.utf8.filter { $0 != UInt8(ascii: "=") }) }
    }
}
