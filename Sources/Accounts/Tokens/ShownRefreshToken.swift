internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// A provider refresh token that an app presents in exchange for a sealed one.
struct ShownRefreshToken: Sendable {
    let token: Secret
    /// The app client that the app names; nil if it names none.
    var clientID: String?
    /// The pool's key of the token's device; nil if the pool does not track devices.
    var deviceKey: String?
    var device: DeviceInfo?

    /// nil for a text that cannot be such a token; Cognito is then not called. Its tokens consist of base64url
    /// characters, and three parts are a signed or a sealed token.
    init?(_ text: Secret) {
        let bytes = text.expose()
        guard bytes.count >= Self.minimumLength, bytes.allSatisfy(Self.isAllowed),
            bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count != 3
        else { return nil }
        token = text
    }

    /// Genuine tokens have about 1800 characters.
    private static let minimumLength = 64

    /// Returns whether the byte matches Cognito's own rule, `[A-Za-z0-9-_=.]+`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// A digest of the token alone, for limits.
    var digest: String { Base64URL.encode(SHA256.hash(token.expose())) }

    /// Returns the family of the session that the token becomes. It is derived from the token, so that the records
    /// recognize a token that was presented before, and the first of two concurrent requests.
    func family(poolID: String) -> [UInt8] {
        Array(SHA256.hash(Array("gatehouse session taken over\n\(poolID)\n".utf8) + token.expose()).prefix(16))
    }

    /// Returns a sealed token that stands for this one: the predecessor of the first token of its family.
    ///
    /// - Parameter deviceID: of the session that the token has become; nil if there is none.
    func standIn(poolID: String, deviceID: String?) -> SealedRefreshToken {
        SealedRefreshToken(
            clientID: "", username: "", subject: "", originID: nil, refreshToken: token, deviceID: deviceID,
            deviceKey: deviceKey, family: family(poolID: poolID), generation: 0, issuedAt: 0, expiresAt: 0)
    }
}
