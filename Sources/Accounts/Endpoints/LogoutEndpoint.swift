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

/// `POST logout`: the session of a refresh token, or all of the user's. Sessions end here first, so that they have
/// ended whatever Cognito says.
struct LogoutEndpoint: AccountEndpoint {
    static let operation = AccountOperation.logout

    private let allDevices: Bool
    private let hasRefreshToken: Bool
    /// Nil for a token that does not open, and for somebody else's.
    private let sealed: SealedRefreshToken?
    /// One of Cognito's own, where those are taken over.
    private let shown: ShownRefreshToken?
    /// Nil without an access token, or with one that has ended.
    private let caller: Caller?
    /// The subject of an access token that was revoked.
    private let revokedSubject: String?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        // A caller whose bearer says it all may send no body.
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
        revokedSubject = try Self.subject(ofEnded: request.endedToken, accounts)
        let wasRevoked = if case .some = revokedSubject { true } else { false }
        guard caller != nil || refreshToken != nil || wasRevoked else {
            if case .some = request.endedToken { throw .tokenInvalid(.tokenExpired, reason: .token(.expired)) }
            throw .tokenMissing()
        }
        call.subject = caller?.subject ?? opened?.subject
        call.session = caller.flatMap { CalledSession($0.identity) }
        // Somebody else's refresh token is not ended by the way.
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
        // It repeats a call, whose revocation may hold in memory alone.
        if case .some = revokedSubject, accounts.hasUnstored() { throw CognitoAccounts.notRevoked }
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
            if let revokedSubject, allDevices {
                let revoked = Refusal.tokenInvalid(reason: .token(.revoked))
                try await accounts.checkSignedOut(revokedSubject, else: revoked, request)
            }
            return .done()
        }
        if allDevices, let caller {
            try await accounts.signOutEverywhere(caller, sealed, request)
        } else {
            try await accounts.signOut(sealed, caller, request)
        }
        return .done(subject: subject)
    }

    /// An expired token names no session: its call needs a refresh token.
    private static func subject(
        ofEnded token: EndedToken?, _ accounts: CognitoAccounts
    ) throws(Refusal) -> String? {
        guard case .revoked(let identity) = token else { return nil }
        try accounts.checkAccessToken(identity)
        return identity.subject
    }
}
