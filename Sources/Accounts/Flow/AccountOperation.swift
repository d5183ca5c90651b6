package import HTTPTypes
package import Pipeline

/// A kind of account call: its place in the API, and its treatment in limits, audit and metrics. Each endpoint defines
/// its own.
package struct AccountOperation: Sendable {
    /// The name in logs.
    package let name: String
    package let method: HTTPRequest.Method
    /// The path after the prefix, without a leading slash. A last segment `*` matches any one, which becomes
    /// ``AccountRequest/segment``.
    package let path: String
    package let bearer: Bearer
    let budget: AccountBudget
    let effect: Effect
    /// Whether a wrong password or second factor in it counts towards the lock of the account.
    private(set) var countsGuesses: Bool
    /// Cognito's errors that come from users' mistakes alone; metrics export them from the start.
    let usualErrors: [CognitoErrorKind]
    /// The operation under which metrics count it.
    let metricsName: String
    /// Whether it belongs to sign-in on hosted pages, and exists only if that is enabled. Such requests have a query
    /// and cookies.
    package var isHosted = false

    /// - Parameters:
    ///   - path: nil if it equals the name.
    ///   - metricsName: nil if it equals the name.
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

    /// The same operation, for a call that requires the password of a signed-in user.
    var askingPassword: AccountOperation {
        var operation = self
        operation.countsGuesses = true
        return operation
    }

    /// The pipeline's treatment of a token before an operation.
    package enum Bearer: Sendable {
        /// No token is checked: a stale one that an app still sends must not prevent a sign-in.
        case ignored
        /// A valid token is required.
        case required
        /// A token, if present, must be valid, or have been valid: a user who is signed out already may sign out.
        case orEnded
        /// A token is required and may have expired: the endpoint decides.
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
