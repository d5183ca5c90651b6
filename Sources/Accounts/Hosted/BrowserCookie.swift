internal import Cryptography
internal import Encoding
internal import Pipeline

/// The cookie that ties a sign-in to the browser that it began in (RFC 9700, 4.7.1).
///
/// It identifies the browser and not the sign-in, so that two sign-ins can be in progress at once.
struct BrowserCookie: Sendable {
    let value: String
    private let isPlain: Bool

    /// Reads the cookie of a request; nil if there is none, or several.
    init?(of request: AccountRequest, _ settings: HostedSignInSettings) {
        guard let values = request.cookies?.values(of: Self.name(settings.isPlain)), values.count == 1,
            values[0].utf8.count == 43, Base64URL.decode(values[0].utf8) != nil
        else { return nil }
        value = values[0]
        isPlain = settings.isPlain
    }

    /// Creates a new cookie.
    init(_ random: [UInt8], _ settings: HostedSignInSettings) {
        value = Base64URL.encode(random)
        isPlain = settings.isPlain
    }

    /// Returns the cookie's name. With the `__Host-` prefix, browsers accept the cookie only from this host over TLS
    /// (RFC 6265bis, 4.1.3.2).
    private static func name(_ isPlain: Bool) -> String { isPlain ? "gatehouse-sign-in" : "__Host-gatehouse-sign-in" }

    var digest: [UInt8] { SHA256.hash(Array(value.utf8)) }

    /// Returns the `Set-Cookie` value. Lax: browsers must send it when Cognito's page redirects back here.
    func field(lifetime: Int64) -> String {
        let security = isPlain ? "" : "Secure; "
        return "\(Self.name(isPlain))=\(value); Path=/; Max-Age=\(lifetime); \(security)HttpOnly; SameSite=Lax"
    }
}
