package import HTTPTypes
package import Pipeline

/// A kind of account call: its place in the API, and what limits, audit and metrics make of it. Each endpoint defines
/// its own.
package struct AccountOperation: Sendable {
    /// In logs.
    package let name: String
    package let method: HTTPRequest.Method
    /// Behind the prefix, without a slash at the beginning. A last segment `*` stands for any one, which the request has
    /// as ``AccountRequest/segment``.
    package let path: String
    package let bearer: Bearer
    let budget: AccountBudget
    let effect: Effect
    /// Whether a wrong password or second factor in it counts towards the account's lock.
    private(set) var countsGuesses: Bool
    /// Cognito's errors that tell of nothing but what users do; metrics have them from the start.
    let usualErrors: [CognitoErrorKind]
    /// The operation that metrics count it as.
    let metricsName: String
    /// Whether it is of sign-in on hosted pages, and there only where that is on. Such requests have a query and
    /// cookies.
    package var isHosted = false

    /// - Parameters:
    ///   - path: nil where it is the name.
    ///   - metricsName: nil where it is the name.
    package init(
        _ name: String, _ method: HTTPRequest.Method, _ path: String? = nil, bearer: Bearer = .ignored,
        budget: AccountBudget, effect: Effect = .none, metricsName: String? = nil
    ) {
        self.init(name, method, path, bearer: bearer, budget: budget, effect: effect, metricsName, usualErrors: [])
    }

    init(
        _ name: String, _ method: HTTPRequest.Method, _ path: String? = nil, bearer: Bearer = .ignored,
        budget: AccountBudget, effect: Effect = .none, _ metricsName: String? = nil, usualErrors: [CognitoErrorKind]
    ) {
        self.name = name
        self.method = method
        self.path = path ?? name
        self.bearer = bearer
        self.budget = budget
        self.effect = effect
        countsGuesses = budget == .signIn
        self.usualErrors = usualErrors
        self.metricsName = metricsName ?? name
    }

    /// The same, for a call that asks a signed-in user for the password.
    var askingPassword: AccountOperation {
        var operation = self
        operation.countsGuesses = true
        return operation
    }

    /// The pipeline's treatment of a token before an operation.
    package enum Bearer: Sendable {
        /// None is looked at: a stale one that an app still sends must not keep its user from signing in.
        case ignored
        /// There must be a valid one.
        case required
        /// One that is there must be valid, or have been: who has been signed out already may sign out.
        case orEnded
        /// There must be one, which may have expired: the endpoint judges it.
        case judged
    }

    /// The change that a success makes, other than a sign-in.
    package enum Effect: Sendable {
        case none, registered, confirmed, passwordReset, passwordChanged, refreshed, signedOut, userDeleted,
            userExported, sessionsEnded, userChanged, emailChanged, phoneNumberChanged, secondFactorsChanged,
            passkeyRegistered, passkeyDeleted
    }
}

extension AccountOperation: Hashable {
    package static func == (one: Self, other: Self) -> Bool { one.name.utf8.elementsEqual(other.name.utf8) }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
