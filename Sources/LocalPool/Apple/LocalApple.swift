internal import Cryptography
internal import Encoding
internal import GRDB
internal import Logging
internal import Store

/// Sign in with Apple from its clients' point of view: the key set, tokens for apps and servers, revocation and
/// notifications.
///
/// It also simulates the phone: instead of a user's confirmation, the test names the account.
struct LocalApple: Sendable {
    let configuration: LocalPoolConfiguration.Apple
    let store: Store
    let keys: AppleKeys
    let logger: Logger
    let clock: PoolClock
    let random: @Sendable (Int) -> [UInt8]

    /// Stores the configured accounts. Blocks the calling thread.
    ///
    /// - Parameter store: has the schema of ``PoolSchema``.
    init(
        configuration: LocalPoolConfiguration.Apple, store: Store, keys: AppleKeys, logger: Logger, clock: PoolClock,
        random: @escaping @Sendable (Int) -> [UInt8]
    ) throws {
        self.configuration = configuration
        self.store = store
        self.keys = keys
        self.logger = logger
        self.clock = clock
        self.random = random
        let now = clock()
        try store.writeBlocking { database in
            try AppleToken.removeExpired(in: database, now: now)
            for account in configuration.accounts { try seed(account, in: database) }
        }
    }

    private func seed(_ seeded: LocalPoolConfiguration.Apple.Account, in database: Database) throws {
        var account = try AppleAccount.find(seeded.email, in: database) ?? newAccount(seeded.email, sub: seeded.sub)
        if let sub = seeded.sub, account.sub != sub {
            throw SeedError(name: seeded.email)
        }
        account.email = seeded.email
        account.isEmailVerified = seeded.isEmailVerified
        account.hidesEmail = seeded.hidesEmail
        account.givenName = seeded.givenName
        account.familyName = seeded.familyName
        account.realUserStatus = seeded.realUserStatus
        try account.save(in: database)
    }

    /// A new account, not yet stored.
    func newAccount(_ email: String, sub: String? = nil) -> AppleAccount {
        AppleAccount(
            sub: sub ?? "000\(100 + Int(random(1)[0])).\(Hexadecimal.encode(random(16))).0417", email: email,
            isEmailVerified: true, relayEmail: "\(Hexadecimal.encode(random(5)))@privaterelay.appleid.com",
            hidesEmail: false, realUserStatus: 2)
    }

    /// A signed identity token.
    ///
    /// - Parameter changes: claims that override the normal ones, for tests of what clients reject.
    func identityToken(
        _ claims: IdentityTokenClaims, by key: SigningKey, changes: JSONObject = [:]
    ) throws(CryptographyError) -> String {
        let object = claims.object(now: clock(), lifetime: configuration.lifetimes.identityToken)
        return try key.sign(object.changed(by: changes))
    }

    func claims(
        _ account: AppleAccount, _ token: AppleToken, hidesEmail: Bool, with companion: IdentityTokenClaims.Companion
    ) -> IdentityTokenClaims {
        IdentityTokenClaims(
            issuer: configuration.issuer, clientID: token.clientID, account: account, hidesEmail: hidesEmail,
            nonce: token.nonce, companion: companion, authTime: token.authTime,
            writesBooleansAsText: configuration.writesBooleansAsText)
    }
}
