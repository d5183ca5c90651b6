/// A kind of account calls that is limited together, as what it can be abused for is the same.
package enum AccountBudget: String, Sendable, CaseIterable {
    /// Passwords and second factors, which can be guessed.
    case signIn = "sign_in"
    /// Codes that were sent, which can be guessed.
    case codes
    /// Calls that make Cognito send a message or create a user.
    case messages
    case refresh
    /// Calls of a signed-in user about their own account.
    case account
}

/// The limits of one kind of calls. Nil is no limit.
package struct BudgetLimits: Sendable, Equatable {
    /// For each client address; of IPv6 for each /64, which is one customer.
    package var address: RateLimit?
    /// For each account as it is named, whether there is such a user or not; a known device has as much for itself.
    package var account: RateLimit?
    /// For all together; known devices come on top.
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
    /// Nil: accounts are never locked.
    package var lockout: LockoutPolicy?
    /// Keys that are kept in memory, and in the store.
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
