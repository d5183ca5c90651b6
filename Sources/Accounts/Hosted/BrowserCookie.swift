internal import Cryptography
internal import Encoding
internal import Pipeline

/// The cookie by which a sign-in comes back in the browser that it began in (RFC 9700, 4.7.1).
///
/// It names the browser and not the sign-in, so that two of them can be under way at once.
struct BrowserCookie: Sendable {
    let value: String
    private let isPlain: Bool

    /// The one that a request brings; nil where it brings none, or several.
    init?(of request: AccountRequest, _ settings: HostedSignInSettings) {
        guard let values = request.cookies?.values(of: Self.name(settings.isPlain)), values.count == 1,
            values[0].utf8.count == 43, Base64URL.decode(values[0].utf8) != nil
        else { return nil }
        value = values[0]
        isPlain = settings.isPlain
    }

    /// A new one.
    init(_ random: [UInt8], _ settings: HostedSignInSettings) {
        value = Base64URL.encode(random)
        isPlain = settings.isPlain
    }

    /// With the prefix, a browser takes it from this host over TLS only (RFC 6265bis, 4.1.3.2).
    private static func name(_ isPlain: Bool) -> String { isPlain ? "gatehouse-sign-in" : "__Host-gatehouse-sign-in" }

    var digest: [UInt8] { SHA256.hash(Array(value.utf8)) }

    /// Lax: it must come along when Cognito's page leads back here.
    func field(lifetime: Int64) -> String {
        let security = isPlain ? "" : "Secure; "
        return "\(Self.name(isPlain))=\(value); Path=/; Max-Age=\(lifetime); \(security)HttpOnly; SameSite=Lax"
    }
}
