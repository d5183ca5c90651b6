internal import Cryptography
internal import Encoding
internal import GRDB

/// A user's second factors.
struct SecondFactors: Sendable {
    /// The methods, by challenge name.
    enum Method: String, CaseIterable, Sendable {
        case sms = "SMS_MFA"
        case softwareToken = "SOFTWARE_TOKEN_MFA"
        case email = "EMAIL_OTP"
    }

    /// The authenticator app's key, after a code has shown that the app has it.
    var softwareTokenKey: Secret?
    /// The last issued key, not yet verified by a code.
    var pendingSoftwareTokenKey: Secret?
    /// The counter of the last accepted code: a code is valid once.
    var lastCount: Int64 = -1
    /// The enabled methods.
    var methods: [Method] = []
    var preferred: Method?

    /// Checks that `code` is the app's current one, and records it, so that it can't be reused.
    mutating func accept(_ code: String, at seconds: Int64) throws(PoolError) {
        guard let key = softwareTokenKey else { throw .softwareTokenNotFound }
        guard let count = OneTimePassword.match(code, key: key, at: seconds) else { throw .codeMismatch }
        guard Int64(clamping: count) > lastCount else { throw .softwareTokenReused }
        lastCount = Int64(clamping: count)
    }

    mutating func set(_ method: Method, isEnabled: Bool, isPreferred: Bool) {
        methods.removeAll { $0 == method }
        if preferred == method { preferred = nil }
        guard isEnabled else { return }
        methods.append(method)
        if isPreferred { preferred = method }
    }

    func update(of sub: String, in database: Database) throws {
        try database.execute(
            sql: """
                UPDATE users SET totp_key = ?, totp_pending_key = ?, totp_last_count = ?, mfa_methods = ?,
                    preferred_mfa = ?
                WHERE sub = ?
                """,
            arguments: [
                softwareTokenKey.map { Hexadecimal.encode($0.expose()) },
                pendingSoftwareTokenKey.map { Hexadecimal.encode($0.expose()) }, lastCount,
                JSON.array(methods.map { .string($0.rawValue) }).text, preferred?.rawValue, sub,
            ])
    }
}

extension SecondFactors {
    init(_ row: Row) throws {
        let preferred: String? = row["preferred_mfa"]
        self.init(
            softwareTokenKey: Self.key(row["totp_key"]), pendingSoftwareTokenKey: Self.key(row["totp_pending_key"]),
            lastCount: row["totp_last_count"],
            methods: try JSON.parse(text: row["mfa_methods"]).strings.compactMap(Method.init),
            preferred: preferred.flatMap(Method.init))
    }

    private static func key(_ hex: String?) -> Secret? {
        hex.flatMap { Hexadecimal.decode($0) }.map { Secret($0) }
    }
}
