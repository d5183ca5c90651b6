internal import Cryptography
internal import Encoding
internal import Pipeline

/// The keys of counts: keyed hashes, which reveal no account, device or address to a reader of the store who lacks the
/// key.
struct LimitKeys: Sendable {
    private let key: Secret

    init(_ key: Secret) {
        self.key = key
    }

    // Keys contain the window's length: a window's number is only comparable among windows of the same length.

    func address(_ address: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        let customer = IPAddress(address)?.ofCustomer.description ?? address
        return code("address", budget.rawValue, String(limit.window), customer)
    }

    func account(_ account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("account", budget.rawValue, String(limit.window), Self.folded(account))
    }

    /// - Parameter device: the ID that the account's app uses.
    func device(_ device: String, of account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("device", budget.rawValue, String(limit.window), Self.folded(account), device)
    }

    /// Returns the key of all known devices of an account together.
    func devices(of account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("devices", budget.rawValue, String(limit.window), Self.folded(account))
    }

    func global(_ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("global", budget.rawValue, String(limit.window))
    }

    func failures(of account: String) -> String { code("failures", Self.folded(account)) }

    /// - Parameter shown: the digest that identifies the step.
    func failures(ofStep shown: String) -> String { code("step-failures", shown) }

    /// Returns the key of failures in steps of sign-ins that began elsewhere.
    func failures(ofStepsFrom address: String) -> String {
        code("steps-failures", IPAddress(address)?.ofCustomer.description ?? address)
    }

    /// Returns the key of guesses by calls with a token of the user, from any session.
    func failures(ofTokensOf subject: String) -> String { code("token-failures", subject) }

    /// Returns the key of guesses by calls with a token of this session.
    func failures(ofSession session: String, of subject: String) -> String {
        code("session-failures", subject, session)
    }

    /// Returns a key that looks like others and counts nothing.
    func padding(of key: String, number: Int) -> String { code("padding", key, String(number)) }

    // A device belongs to an account with exactly this name: a pool may have another account whose name differs only in
    // case.

    func failures(of account: String, on device: String) -> String { code("device-failures", account, device) }

    func knownDevice(_ device: String, of account: String) -> String { code("known-device", account, device) }

    /// - Parameter key: the key that counts the account's failures.
    func knownDevice(_ device: String, ofKey key: String) -> String { code("known-device-of", key, device) }

    func newDevices(of account: String) -> String { code("new-devices", account) }

    /// - Parameter name: a sign-in name.
    func accountName(_ name: String, in poolID: String) -> String { code("account-name", poolID, Self.folded(name)) }

    /// Returns the key of a name in exactly this spelling.
    func accountName(exactly name: String, in poolID: String) -> String { code("account-name-exact", poolID, name) }

    /// Returns the key of a name's user before the last one.
    func otherUser(ofName key: String) -> String { code("account-name-other", key) }

    /// Folds a name. Pools ignore the case of names, unless they are case-sensitive. Canonically equivalent spellings
    /// count as one name too, and allow no further guesses.
    static func folded(_ account: String) -> String { account.composed.foldedCase }

    /// Hashes the parts. Each is preceded by its length, so that no two lists give the same text.
    private func code(_ parts: String...) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(parts.reduce(0) { $0 + $1.utf8.count + 8 })
        for part in parts {
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            text.append(contentsOf: String(part.utf8.count).utf8)
            text.append(UInt8(ascii: ":"))
            text.append(contentsOf: part.utf8)
        }
        return Base64URL.encode(Array(HMACSHA256.authenticationCode(for: text, key: key.expose()).prefix(16)))
    }
}
