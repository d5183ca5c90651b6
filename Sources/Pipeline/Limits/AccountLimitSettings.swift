/// A group of account calls with shared limits, because they can be abused for the same purpose.
package enum AccountBudget: String, Sendable, CaseIterable {
    /// Checks of passwords and second factors, which can be guessed.
    case signIn = "sign_in"
    /// Checks of codes that were sent, which can be guessed.
    case codes
    /// Calls that make Cognito send a message or create a user.
    case messages
    case refresh
    /// Calls of a signed-in user about their own account.
    case account
}

/// The limits of one group of calls; nil: no limit.
package struct BudgetLimits: Sendable, Equatable {
    /// Per client address; for IPv6 per /64, which is one customer.
    package var address: RateLimit?
    /// Per account name, whether or not the user exists. Each known device has a limit of its own of the same size.
    package var account: RateLimit?
    /// For all calls together. Calls of known devices do not count.
    package var global: RateLimit?

    package init(address: RateLimit? = nil, account: RateLimit? = nil, global: RateLimit? = nil) {
        self.address = address
        self.account = account
        self.global = global
    }
}

/// All limits of account calls.
package struct AccountLimitSettings: Sendable, Equatable {
    /// In the order of ``AccountBudget``, so that equal settings read alike as text.
    private var budgets = AccountBudget.allCases.map { _ in BudgetLimits() }
    /// Nil if accounts are never locked.
    package var lockout: LockoutPolicy?
    /// The maximum number of keys in memory, and in the store.
    package var maximumKeys = 200_000

    package init() {}

    package subscript(budget: AccountBudget) -> BudgetLimits {
        get { budgets[budget.number] }
        set { budgets[budget.number] = newValue }
    }
}

extension AccountBudget {
    fileprivate var number: Int {
        switch self {
        case .signIn: 0
        case .codes: 1
        case .messages: 2
        case .refresh: 3
        case .account: 4
        }
    }
}
