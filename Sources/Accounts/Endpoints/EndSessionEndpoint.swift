internal import HTTPTypes
internal import Pipeline
internal import Store

extension AccountOperation {
    static let endSession = AccountOperation(
        "end-session", .delete, "me/sessions/*", bearer: .required, budget: .account, effect: .sessionsEnded)
    static let endOtherSessions = AccountOperation(
        "end-other-sessions", .delete, "me/sessions", bearer: .required, budget: .account, effect: .sessionsEnded)
}

/// `DELETE me/sessions/{id}`: ends one of the user's sessions, possibly the caller's own.
struct EndSessionEndpoint: AccountEndpoint {
    static let operation = AccountOperation.endSession

    private let caller: Caller
    private let family: [UInt8]?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.callerOfOwnAccount(request)
        family = request.segment.flatMap(OwnSession.family)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        guard let family, let session = try await accounts.session(family, of: caller, request) else {
            throw .unknownSession()
        }
        if session.isOpen(at: accounts.now()) {
            try await accounts.end([session], askedBy: caller, request)
        }
        return .done(subject: caller.subject)
    }
}

/// `DELETE me/sessions`: ends all of the user's sessions except the caller's own.
struct EndOtherSessionsEndpoint: AccountEndpoint {
    static let operation = AccountOperation.endOtherSessions

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.callerOfOwnAccount(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let others = try await accounts.openSessions(of: caller, request).filter { !caller.isOf($0) }
        try await accounts.end(others, askedBy: caller, request)
        return .done(subject: caller.subject)
    }
}
