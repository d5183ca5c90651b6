internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing
internal import Store

extension AccountOperation {
    package static let logout = AccountOperation(
        "logout", .post, bearer: .orEnded, budget: .account, effect: .signedOut)
}

/// `POST logout`: ends the session of a refresh token, or all of the user's. Sessions end here first, so that they have
/// ended whatever Cognito's response.
struct LogoutEndpoint: AccountEndpoint {
    static let operation = AccountOperation.logout

    private let allDevices: Bool
    private let hasRefreshToken: Bool
    /// nil for a token that cannot be unsealed, and for another user's.
    private let sealed: SealedRefreshToken?
    /// A provider refresh token, if the settings take over sessions.
    private let shown: ShownRefreshToken?
    /// nil without an access token, or with one that has expired or was revoked.
    private let caller: Caller?
    /// The access token, if it was revoked.
    private let revoked: VerifiedToken?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        // The body may be empty if the access token suffices.
        var fields = request.body.isEmpty ? RequestFields([:]) : try request.fields()
        let refreshToken = fields.optionalText("refresh_token", atMost: SealedText.maximumLength).map { Secret($0) }
        allDevices = fields.flag("all_devices", default: false)
        try fields.check()
        hasRefreshToken = refreshToken != nil
        let caller = request.bearer == nil ? nil : try accounts.caller(request)
        self.caller = caller
        let opened = try refreshToken.flatMap(accounts.sealedToken)
        let takesOver = if case .some = accounts.settings.sessionTakeover { true } else { false }
        shown = takesOver ? refreshToken.flatMap { ShownRefreshToken($0) } : nil
        if caller == nil { call.tokenDigest = shown?.digest }
        revoked = try accounts.revokedToken(request)
        let wasRevoked = if case .some = revoked { true } else { false }
        guard caller != nil || refreshToken != nil || wasRevoked else {
            if case .some = request.endedToken { throw .tokenInvalid(.tokenExpired, reason: .token(.expired)) }
            throw .tokenMissing()
        }
        // A revoked token counts for its own session, and only if no refresh token names one.
        let isNamed = opened != nil || shown != nil
        let token = caller?.identity ?? (allDevices || isNamed ? nil : revoked)
        call.subject = token?.subject ?? opened?.subject
        call.session = token.flatMap(CalledSession.init)
        // Another user's refresh token does not end here.
        guard let opened, caller?.subject.hasSameBytes(as: opened.subject) != false else {
            sealed = nil
            return
        }
        sealed = opened
        call.session = CalledSession(opened)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let answer = try await signOut(accounts, request, &admission)
        // The call repeats one whose revocation may be only in memory.
        if case .some = revoked, accounts.hasUnstored() { throw CognitoAccounts.notRevoked }
        return answer
    }

    private func signOut(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        if allDevices, caller == nil, hasRefreshToken {
            return .done(subject: try await accounts.signOutEverywhere(with: sealed, request))
        }
        if let shown, !allDevices {
            let record = try await accounts.signOut(shown, caller, request)
            if let record { (admission.call.subject, admission.call.session) = (record.subject, CalledSession(record)) }
            return .done(subject: caller?.subject ?? record?.subject)
        }
        guard let subject = caller?.subject ?? sealed?.subject else {
            if let revoked {
                if allDevices {
                    let refusal = Refusal.tokenInvalid(reason: .token(.revoked))
                    try await accounts.checkSignedOut(revoked.subject, else: refusal, request)
                } else {
                    // Possibly only its access token was revoked: by an operator, or with many others of the user.
                    try await accounts.signOut(nil, revoked, request)
                    return .done(subject: revoked.subject)
                }
            }
            return .done()
        }
        if allDevices, let caller {
            try await accounts.signOutEverywhere(caller, sealed, request)
        } else {
            try await accounts.signOut(sealed, caller?.identity, request)
        }
        return .done(subject: subject)
    }
}
