internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let secondFactors = AccountOperation("mfa", .get, bearer: .required, budget: .account)
    static let setSecondFactors = AccountOperation(
        "set-mfa", .patch, "mfa", bearer: .required, budget: .account, effect: .secondFactorsChanged)
}

/// `GET mfa`: the enabled second factors, and those that can be enabled.
struct SecondFactorsEndpoint: AccountEndpoint {
    static let operation = AccountOperation.secondFactors

    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        try await accounts.answer(showingFactorsOf: caller, request)
    }
}

/// `PATCH mfa`: sets the second factors; all others are disabled. An authenticator app is set up by `mfa/totp` first.
struct SetSecondFactorsEndpoint: AccountEndpoint {
    static let operation = AccountOperation.setSecondFactors

    /// nil: the enabled factors do not change.
    private let enabled: Set<SecondFactor>?
    /// nil: the preferred factor does not change, if it stays enabled.
    private let preferred: SecondFactor??
    private let caller: Caller

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        enabled = fields.secondFactors("enabled")
        preferred = fields.mentions("preferred") ? .some(fields.secondFactor("preferred")) : nil
        try fields.check()
        caller = try accounts.caller(request)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let known = try await accounts.secondFactors(of: caller, request)
        let wanted = try wanted(after: known)
        for (factor, attribute) in [(SecondFactor.sms, "phone_number"), (.email, "email")]
        where wanted.enabled.contains(factor) && !known.available.contains(factor) {
            let error = "\(factor.rawValue) needs a verified \(attribute)"
            throw Refusal(.invalidParameter, fields: ["enabled": error], reason: .account(.invalidFields))
        }
        var input = known.changes(to: wanted)
        guard !input.isEmpty else { return try await accounts.answer(showingFactorsOf: caller, request) }
        for (name, value) in caller.input { input[name] = value }
        _ = try await accounts.call(.setUserMFAPreference, input, for: request, at: .bearer)
        return await accounts.answer(afterChangeBy: caller, request) { () async throws(Refusal) in
            try await accounts.answer(showingFactorsOf: caller, request)
        }
    }
}

extension SetSecondFactorsEndpoint {
    private func wanted(after known: SecondFactors) throws(Refusal) -> SecondFactors {
        let enabled = enabled ?? known.enabled
        guard let preferred else {
            let kept = known.preferred.flatMap { enabled.contains($0) ? $0 : nil }
            return SecondFactors(enabled: enabled, preferred: kept)
        }
        if let preferred, !enabled.contains(preferred) {
            throw Refusal(
                .invalidParameter, fields: ["preferred": "must be enabled"], reason: .account(.invalidFields))
        }
        return SecondFactors(enabled: enabled, preferred: preferred)
    }
}

extension CognitoAccounts {
    fileprivate func secondFactors(
        of caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) -> SecondFactors {
        let output = try await call(.getUser, caller.input, for: request, at: .bearer)
        guard let user = AccountUser(output: output, groups: []) else { throw unusable("UnreadableUser", request) }
        return SecondFactors(output: output, user: user)
    }

    fileprivate func answer(
        showingFactorsOf caller: Caller, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        let factors = try await secondFactors(of: caller, request)
        return AccountAnswer(.ok, factors.object, subject: caller.subject)
    }
}

extension RequestFields {
    fileprivate mutating func secondFactors(_ name: String) -> Set<SecondFactor>? {
        guard let names = list(name) else { return nil }
        let factors = names.compactMap { SecondFactor(exactly: $0) }
        if factors.count < names.count { refuse(name, "must hold only \(Self.factorNames)") }
        return Set(factors)
    }

    fileprivate mutating func secondFactor(_ name: String) -> SecondFactor? {
        guard let text = optionalText(name, atMost: 64) else { return nil }
        let factor = SecondFactor(exactly: text)
        if factor == nil { refuse(name, "must be one of \(Self.factorNames)") }
        return factor
    }

    private static let factorNames = SecondFactor.allCases.map(\.rawValue).joined(separator: ", ")
}
