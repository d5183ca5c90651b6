package import Pipeline

/// An account call as limits see it.
package struct LimitedCall: Sendable {
    package var budget: AccountBudget
    /// The account that the call is said or known to be about; nil where nothing in it says.
    package var account: String?
    /// The app's id for its device.
    package var device: String?
    /// The device that is proven otherwise than by an earlier sign-in, by a name that the client cannot choose. It
    /// counts in the place of ``device``.
    var provenDevice: String?
    /// Digests of a sign-in step whose owner is not known here; nil for all other calls. Such a step belongs to no
    /// device, and the name in it proves nothing.
    var unknownStep: [String]?
    /// An IPv4 or IPv6 literal.
    package var clientAddress: String
    /// Whether it counts for its account alone, because it belongs to a call that counts as well.
    var isOfAccountOnly = false

    /// Nil for all but a call that shows a current password beside a token.
    var guess: Guess?

    /// A guess at the password of an account by a call with a token of the account's. Strangers have none: it has locks
    /// of its own, which no failed sign-in reaches. A wrong one is a failure of the account all the same.
    struct Guess: Sendable {
        /// The account itself, and its user's `sub` in the pool, which no other account's looks like.
        var account: String
        var subject: String
        /// The sign-in that the token is of, where it says so.
        var session: String?
    }

    /// Whether it may end as a wrong guess, which counts towards the account's lock.
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
