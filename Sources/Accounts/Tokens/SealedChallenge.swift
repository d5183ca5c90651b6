internal import Cognito
internal import Cryptography
internal import Sealing

/// The `session` that a client gets with a challenge: Cognito's own session, and the state for the rest of the sign-in.
struct SealedChallenge: Sendable {
    /// In seconds. Cognito's longest session is 15 minutes; an older one can only be a replay.
    static let lifetime: Int64 = 15 * 60

    var name: String
    /// Cognito's session.
    var session: String
    /// The name that the response must be sent and hashed with: often not the typed one.
    var username: String
    /// The account's name as typed, for limits and audit.
    var account: String
    var rememberMe: Bool
    var deviceID: String?
    /// The device's credentials from an earlier sign-in, if the pool tracks devices; nil otherwise.
    var device: DeviceCredentials?
    /// In seconds since 1970. All challenges after one proof expire together.
    var expiresAt: Int64
    var proof = Proof.given

    /// The time of the proof, in seconds since 1970.
    var provenAt: Int64 { expiresAt - Self.lifetime }

    /// The proof that the user has given before the challenge.
    enum Proof: UInt8 {
        /// A password, or another first factor.
        case given = 0
        /// No proof: the challenge is for a first factor.
        case missing = 1
        /// No proof is possible: the user does not exist, lacks this factor, or may not sign in.
        case impossible = 2
    }

    /// The length of the content before a proof: it must not reveal whether the user exists. Cognito's longest session
    /// and name fit.
    private static let paddedCount = 4096

    func sealed(with keys: SealingKeyRing, poolID: String) throws(SealingFailure) -> Secret {
        var writer = ByteWriter()
        let written =
            writer.write(text: name) && writer.write(text: session) && writer.write(text: username)
            && writer.write(text: account) && writer.write(optional: deviceID) && write(device, &writer)
        guard written else { throw SealingFailure() }
        writer.write(byte: rememberMe ? 1 : 0)
        writer.write(integer: expiresAt)
        if proof != .given {
            writer.write(byte: proof.rawValue)
            let padding = max(0, Self.paddedCount - writer.bytes.count)
            guard writer.write(field: [UInt8](repeating: 0, count: padding)) else { throw SealingFailure() }
        }
        let text = try SealedText.seal(writer.bytes, as: .challenge, with: keys, poolID: poolID)
        guard text.expose().count <= SealedText.maximumLength else { throw SealingFailure() }
        return text
    }

    private func write(_ device: DeviceCredentials?, _ writer: inout ByteWriter) -> Bool {
        writer.write(byte: device == nil ? 0 : 1)
        return device?.write(to: &writer) ?? true
    }
}

extension SealedChallenge {
    init(opening text: Secret, with keys: SealingKeyRing, poolID: String) throws(InvalidSealedToken) {
        var reader = ByteReader(try SealedText.open(text, as: .challenge, with: keys, poolID: poolID))
        guard let name = reader.readText(), let session = reader.readText(), let username = reader.readText(),
            let account = reader.readText(), let deviceID = reader.readOptional(), let hasDevice = reader.readByte()
        else { throw InvalidSealedToken() }
        let device = hasDevice == 1 ? DeviceCredentials(&reader) : nil
        guard hasDevice == 0 || device != nil, let rememberMe = reader.readByte(),
            let expiresAt = reader.readInteger()
        else { throw InvalidSealedToken() }
        var proof = Proof.given
        if !reader.isAtEnd {
            guard let missing = reader.readByte().flatMap(Proof.init), missing != .given, reader.readField() != nil,
                reader.isAtEnd
            else { throw InvalidSealedToken() }
            proof = missing
        }
        self.init(
            name: name, session: session, username: username, account: account, rememberMe: rememberMe == 1,
            deviceID: deviceID.text, device: device, expiresAt: expiresAt, proof: proof)
    }
}
