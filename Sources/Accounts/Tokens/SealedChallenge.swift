internal import Cognito
internal import Cryptography
internal import Sealing

/// The `session` of a challenge that a client holds: Cognito's own session, and the state for the rest of the sign-in.
struct SealedChallenge: Sendable {
    /// Cognito's longest session is 15 minutes; what is older than that can only be a replay.
    static let lifetime: Int64 = 15 * 60

    var name: String
    /// Cognito's session.
    var session: String
    /// The name that the answer must be sent and hashed with: often not what the user typed.
    var username: String
    /// The account's name as the user typed it, for limits and audit.
    var account: String
    var rememberMe: Bool
    var deviceID: String?
    /// The credentials with which the device has proven itself before, if the pool tracks devices.
    var device: DeviceCredentials?
    /// In seconds since 1970. All questions that follow on one proof end together.
    var expiresAt: Int64
    var proof = Proof.given

    /// When the proof was given, in seconds since 1970.
    var provenAt: Int64 { expiresAt - Self.lifetime }

    /// The proof that the user has given before the challenge.
    enum Proof: UInt8 {
        /// A password, or another first factor.
        case given = 0
        /// Nothing: the challenge is for a first factor.
        case missing = 1
        /// Nothing, and nothing can be: there is no such user, or none who has this factor or may sign in.
        case impossible = 2
    }

    /// The length of the content where nothing is proven: it must not tell whether there is a user. Cognito's longest
    /// session and name fit.
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
