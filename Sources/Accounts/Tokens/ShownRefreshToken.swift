internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline

/// A refresh token of Cognito's own that an app shows, to have a sealed one in its place.
struct ShownRefreshToken: Sendable {
    let token: Secret
    /// The app client that the app says it is of; nil: it does not say.
    var clientID: String?
    /// The pool's own key for the device that it is of, if the pool tracks devices.
    var deviceKey: String?
    var device: DeviceInfo?

    /// Nil for a text that can be none, about which Cognito is not asked: its tokens have letters of base64url, and
    /// three parts are a signed or a sealed token.
    init?(_ text: Secret) {
        let bytes = text.expose()
        guard bytes.count >= Self.minimumLength, bytes.allSatisfy(Self.isAllowed),
            bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).count != 3
        else { return nil }
        token = text
    }

    /// Real ones have about 1800 characters.
    private static let minimumLength = 64

    /// Cognito's own rule: `[A-Za-z0-9-_=.]+`.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Of the token alone, for limits.
    var digest: String { Base64URL.encode(SHA256.hash(token.expose())) }

    /// The family of the session that it becomes. It follows from the token, so that the records tell one that was
    /// shown before, and of two that are shown at once the first.
    func family(poolID: String) -> [UInt8] {
        Array(SHA256.hash(Array("gatehouse session taken over\n\(poolID)\n".utf8) + token.expose()).prefix(16))
    }

    /// In the place of the sealed token that it never was: the one before the first of its family.
    ///
    /// - Parameter deviceID: of the session that it has become, where it has.
    func standIn(poolID: String, deviceID: String?) -> SealedRefreshToken {
        SealedRefreshToken(
            clientID: "", username: "", subject: "", originID: nil, refreshToken: token, deviceID: deviceID,
            deviceKey: deviceKey, family: family(poolID: poolID), generation: 0, issuedAt: 0, expiresAt: 0)
    }
}
