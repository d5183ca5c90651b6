package import Pipeline

/// An account call as limits see it.
package struct LimitedCall: Sendable {
    package var budget: AccountBudget
    /// The account that the call claims or is known to be about; nil if it names none.
    package var account: String?
    /// The app's ID of its device.
    package var device: String?
    /// The device with another proof than an earlier sign-in, under a name that the client cannot choose; nil if there
    /// is none. It replaces ``device``.
    var provenDevice: String?
    /// Digests of a sign-in step of an unknown account; nil for all other calls. Such a step belongs to no device, and
    /// the name in it proves nothing.
    var unknownStep: [String]?
    /// An IPv4 or IPv6 literal.
    package var clientAddress: String
    /// Whether the call counts only for its account, because it belongs to a call that is itself counted.
    var isOfAccountOnly = false

    /// The guess in a call that has a current password besides a token; nil for all others.
    var guess: Guess?

    /// A guess at an account's password in a call with a token of the account. Others have no such token, so the guess
    /// has locks of its own, which failed sign-ins do not affect. A wrong guess still counts as a failure of the
    /// account.
    struct Guess: Sendable {
        /// The account itself, and its user's `sub` in the pool, in a form that no account name has.
        var account: String
        var subject: String
        /// The token's sign-in; nil if the token does not name it.
        var session: String?
    }

    /// Whether the call may end as a wrong guess, which counts towards the account's lock.
    var countsGuesses: Bool { budget == .signIn }
    var isUnknownStep: Bool { if case .some = unknownStep { true } else { false } }

    package init(
        budget: AccountBudget, account: String?, device: String? = nil, provenDevice: String? = nil,
        unknownStep: [String]? = nil, clientAddress: String
    ) {
        self.budget = budget
        self.unknownStep = unknownStep
        self.account = account
        self.device = device
        self.provenDevice = provenDevice
        self.clientAddress = clientAddress
    }
}
