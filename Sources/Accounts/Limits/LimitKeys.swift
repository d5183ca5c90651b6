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

    // A window's number means something beside windows of the same length only.

    func address(_ address: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        let customer = IPAddress(address)?.ofCustomer.description ?? address
        return code("address", budget.rawValue, String(limit.window), customer)
    }

    func account(_ account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("account", budget.rawValue, String(limit.window), Self.folded(account))
    }

    /// - Parameter device: as the account's user named it.
    func device(_ device: String, of account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("device", budget.rawValue, String(limit.window), Self.folded(account), device)
    }

    /// All known devices of an account together.
    func devices(of account: String, _ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("devices", budget.rawValue, String(limit.window), Self.folded(account))
    }

    func global(_ budget: AccountBudget, _ limit: RateLimit) -> String {
        code("global", budget.rawValue, String(limit.window))
    }

    func failures(of account: String) -> String { code("failures", Self.folded(account)) }

    /// - Parameter shown: what stands for the step.
    func failures(ofStep shown: String) -> String { code("step-failures", shown) }

    /// Steps of sign-ins that began elsewhere.
    func failures(ofStepsFrom address: String) -> String {
        code("steps-failures", IPAddress(address)?.ofCustomer.description ?? address)
    }

    /// Guesses by calls with a token of the user's, of whichever session.
    func failures(ofTokensOf subject: String) -> String { code("token-failures", subject) }

    /// Guesses by calls with a token of this session.
    func failures(ofSession session: String, of subject: String) -> String {
        code("session-failures", subject, session)
    }

    /// A key that is like others and counts nothing.
    func padding(of key: String, number: Int) -> String { code("padding", key, String(number)) }

    // A device is an account's that goes by exactly this name: a pool may have another one whose name differs in case.

    func failures(of account: String, on device: String) -> String { code("device-failures", account, device) }

    func knownDevice(_ device: String, of account: String) -> String { code("known-device", account, device) }

    /// - Parameter key: by which the account's failures are counted.
    func knownDevice(_ device: String, ofKey key: String) -> String { code("known-device-of", key, device) }

    func newDevices(of account: String) -> String { code("new-devices", account) }

    /// - Parameter name: for sign-in.
    func accountName(_ name: String, in poolID: String) -> String { code("account-name", poolID, Self.folded(name)) }

    /// A name in exactly this spelling.
    func accountName(exactly name: String, in poolID: String) -> String { code("account-name-exact", poolID, name) }

    /// Another user of a name than the last one.
    func otherUser(ofName key: String) -> String { code("account-name-other", key) }

    /// Pools take names in any case for the same one, unless they are case-sensitive. Spellings that look the same count
    /// as one too: nobody gets more guesses by them.
    static func folded(_ account: String) -> String { account.composed.foldedCase }

    /// Parts are told apart by their lengths: no two lists give one text.
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
