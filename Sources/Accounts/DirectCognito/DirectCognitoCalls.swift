package import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Locking
package import Logging
package import Pipeline

/// Carries out what apps call Cognito for, with the app client's secret added. Each call that is meant for a pool here
/// takes the way of an account call.
package struct DirectCognitoCalls: Sendable {
    let pools: [DirectCognitoPool]
    let flow: AccountFlow
    let steps: SignInSteps
    let sessions: DirectSessions
    let shared: SharedValues?
    let revoke: CognitoAccounts.TokenRevocation
    let accounts: [CognitoAccounts]
    let forget: @Sendable (_ subject: String, _ poolID: String) async throws -> Void
    let revocations: @Sendable () -> RevocationList
    let revocationTime: @Sendable () -> Int64
    let logger: Logger

    /// - Parameters:
    ///   - pools: at least one; what names none is the first one's.
    ///   - steps: kept through reloads, as `sessions` are.
    ///   - shared: by which other gateways know of steps and sessions; nil where there are none.
    ///   - revoke: ends the access tokens of who has signed out everywhere, or is gone.
    ///   - accounts: of the pools, which end the sessions of who has a new password.
    ///   - forget: forgets the sessions of a user who is gone.
    ///   - revocations: the revocation list as it is now.
    ///   - revocationTime: the latest time that is known to have been, in seconds since 1970, so that a clock that is
    ///     behind leaves no token good.
    package init(
        pools: [DirectCognitoPool], flow: AccountFlow, steps: SignInSteps, sessions: DirectSessions,
        shared: SharedValues? = nil, revoke: @escaping CognitoAccounts.TokenRevocation,
        accounts: [CognitoAccounts] = [],
        forget: @escaping @Sendable (_ subject: String, _ poolID: String) async throws -> Void,
        revocations: @escaping @Sendable () -> RevocationList, revocationTime: @escaping @Sendable () -> Int64,
        logger: Logger
    ) {
        self.pools = pools
        self.flow = flow
        self.steps = steps
        self.sessions = sessions
        self.shared = shared
        self.revoke = revoke
        self.accounts = accounts
        self.forget = forget
        self.revocations = revocations
        self.revocationTime = revocationTime
        self.logger = logger
    }

    /// Answers a call. Never fails: every failure is an answer in Cognito's own shape.
    package func answer(_ request: DirectCognitoRequest) async -> DirectCognitoReply {
        guard let operation = request.call.operation, ClientOperation.proof(of: operation) != nil,
            let first = pools.first
        else { return DirectCognitoReply(DirectCognitoRefusal.notCarriedOut, requestID: request.requestID) }
        // As far as it is known, whatever comes of it.
        var known = AccountCall(
            request, as: ClientOperation.accountOperation(of: operation), poolID: first.settings.poolID)
        var reply: DirectCognitoReply
        do throws(DirectCognitoRefusal) {
            let answer = try await flow.run(known) { call async throws(DirectCognitoRefusal) in
                let read = try await read(operation, request, &call)
                known = call
                return read
            } perform: { read, admission throws(DirectCognitoRefusal) in
                let answer = try await perform(read, request, &admission)
                known = admission.call
                return answer
            }
            reply = DirectCognitoReply(answer.answer, requestID: request.requestID)
        } catch {
            reply = DirectCognitoReply(error, requestID: request.requestID)
        }
        (reply.account, reply.subject) = (known.account, known.subject)
        return reply
    }

    /// A call that was read.
    private struct ReadCall {
        var call: TranslatedCall
        var pool: DirectCognitoPool
        var step: SignInSteps.Finding
        /// Cognito's own name for the user; of an unknown step what it claims that to be.
        var username: String?

        /// The sign-in that it is a step of; nil for a first step, and where nobody knows.
        var signIn: SignInUnderWay? { if case .known(let signIn) = step { signIn } else { nil } }

        var isConsistent: Bool {
            switch step {
            case .known(let signIn): call.account.map(signIn.goesUnder) ?? true
            case .unknown: true
            case .contradictory: false
            }
        }
    }

    /// Reads a call and finds the pool that it is for. A malformed one counts as a call of the first pool's.
    private func read(
        _ operation: String, _ request: DirectCognitoRequest, _ call: inout AccountCall
    ) async throws(DirectCognitoRefusal) -> ReadCall {
        let input = try DirectCognitoTranslation.input(request.body)
        guard let pool = pools.first(where: { $0.isMeant(by: input) }) ?? pools.first else { throw .notCarriedOut }
        let translated = try DirectCognitoTranslation(pool: pool)
            .call(operation, input, clientAddress: request.clientAddress)
        call.operation = ClientOperation.accountOperation(
            of: translated.operation, attribute: input["AttributeName"]?.stringValue,
            maySendCode: translated.maySendCode)
        call.method = call.operation.budget == .signIn ? .translated : nil
        call.poolID = pool.settings.poolID
        call.account = translated.account
        try await verifyToken(of: translated, at: pool, &call)
        // Whoever has the refresh token is of its session, whatever Cognito says of it.
        call.session = try await sessionClaims(by: translated.refreshDigest).flatMap { CalledSession($0) }
        call.device = translated.deviceKey.map { DeviceInfo(directDevice: $0) }
        var read = ReadCall(call: translated, pool: pool, step: try await findStep(translated.shownDigests))
        read.username = identify(&call, read)
        return read
    }

    /// Adds to a call whose access token it has. One that is not verified refuses the call: it must count against
    /// nobody whom it only names. Of a refresh token nobody knows here whose it is.
    private func verifyToken(
        of translated: TranslatedCall, at pool: DirectCognitoPool, _ call: inout AccountCall
    ) async throws(DirectCognitoRefusal) {
        guard translated.claims != nil, let token = translated.input["AccessToken"]?.stringValue else {
            call.tokenDigest = translated.tokenDigest
            return
        }
        switch await pool.verify(Secret(token)) {
        case .verified(let identity):
            call.subject = identity.subject
            if call.operation == .changePassword { call.guess = PasswordGuess(by: identity) }
        case .rejected(.expired): throw .expiredAccessToken
        case .rejected(let reason): throw .invalidAccessToken(reason)
        case .needsKeys: throw .unavailable(.request(.keysUnavailable))
        }
    }

    /// A step comes under the account that its sign-in began with, whatever name is in it.
    ///
    /// - Returns: as ``ReadCall/username``.
    private func identify(_ call: inout AccountCall, _ read: ReadCall) -> String? {
        guard call.operation == .challenge else { return nil }
        guard let signIn = read.signIn else {
            // Each is a row for a failure; real calls show two at most.
            call.unknownStep = Array(read.call.shownDigests.prefix(4))
            return read.call.account
        }
        call.account = signIn.account
        return signIn.usernames.first?.text
    }

    private func perform(
        _ read: ReadCall, _ request: DirectCognitoRequest, _ admission: inout Admission
    ) async throws(DirectCognitoRefusal) -> DirectAnswer {
        guard read.isConsistent else { throw .otherUser }
        var call = read.call
        try await countMessage(of: call, admission.call)
        if let seconds = await closedFor(&admission, as: read.username) {
            try DirectCognitoTranslation(pool: read.pool).fail(&call, closedFor: seconds, in: read.signIn)
        }
        let change = try await storeChange(
            by: call, account: admission.call.account, at: read.pool, requestID: request.requestID)
        let answer: CognitoAnswer
        do throws(DirectCognitoRefusal) {
            answer =
                ExactText(call.operation) == "RevokeToken"
                ? try await signOut(&call, of: read.pool, request) : try await carryOut(call, of: read.pool, request)
        } catch {
            if mayHaveSetPassword(call, of: read.signIn, error) {
                leave(change, at: read.pool)
            } else {
                await drop(change, at: read.pool)
            }
            throw error
        }
        if answer.error != nil { await drop(change, at: read.pool) }
        await noteSession(answer, to: call, at: read.pool)
        if let token = answer.accessToken { owner(read.pool)?.tokenCheck?.note(token) }
        let outcome = note(answer, to: call, in: &admission.call)
        await note(answer, to: call, of: read, &admission)
        if admission.call.operation == .refresh, case .signedIn(let user) = answer.outcome {
            await flow.accountGuard.noteNames(of: user, poolID: read.pool.settings.poolID)
        }
        return DirectAnswer(
            answer: answer, outcome: outcome, call: call, change: answer.error == nil ? change : nil,
            account: admission.call.account, pool: read.pool, calls: self, requestID: request.requestID)
    }

    /// Counts the code that a step of a sign-in may send, and those to the addresses of a registration. Any other call
    /// is counted as the message itself.
    private func countMessage(of step: TranslatedCall, _ call: AccountCall) async throws(DirectCognitoRefusal) {
        do throws(Refusal) {
            if call.operation == .register {
                for address in step.registeredAddresses { try await flow.countMessage(to: address, call) }
            }
            guard call.operation.budget == .signIn, step.maySendCode else { return }
            let isForNewAddress = (step.input["ChallengeName"]?.stringValue).hasSameBytes(as: "MFA_SETUP")
            try await flow.countMessage(call, isForNewAddress: isForNewAddress)
        } catch {
            throw DirectCognitoRefusal(error)
        }
    }

    /// For how many seconds the account is closed that a call is of; nil where it is not, or guesses nothing.
    private func closedFor(_ admission: inout Admission, as username: String?) async -> Int? {
        guard admission.call.operation.budget == .signIn else { return nil }
        return await flow.accountGuard.identify(&admission, as: username)
    }

    /// The outcome of a call. Adds to `call` what the answer shows about it.
    private func note(
        _ answer: CognitoAnswer, to translated: TranslatedCall, in call: inout AccountCall
    ) -> AccountOutcome {
        let outcome = answer.outcome
        // A token that Cognito has taken is what it says.
        if answer.error == nil {
            call.subject = translated.claimed.subject
            call.session = call.session ?? translated.claims.flatMap { CalledSession($0) }
        }
        guard case .signedIn(let user) = outcome else { return outcome }
        call.subject = user.id
        if let device = answer.newDeviceKey { call.device = DeviceInfo(directDevice: device) }
        return call.operation == .refresh ? .succeeded : outcome
    }

    /// Notes whose the next step of a sign-in is, where it is known whose this one was.
    private func note(
        _ answer: CognitoAnswer, to call: TranslatedCall, of read: ReadCall, _ admission: inout Admission
    ) async {
        let begun = admission.call.operation == .login ? admission.call.account : nil
        guard var next = read.signIn ?? begun.map({ SignInUnderWay(account: $0) }) else { return }
        // Cognito asks for a new password after a right one only, in whichever flow that was given.
        next.isPasswordProven = next.isPasswordProven || call.provesPassword || answer.asksForNewPassword
        for name in answer.internalNames.exact where !next.usernames.contains(name) { next.usernames.append(name) }
        await noteStep(next, by: read.pool.stepDigests(given: answer.output, deviceKey: call.deviceKey))
        if let username = answer.internalNames.first { _ = await closedFor(&admission, as: username) }
    }
}

/// Cognito's answer to a direct call, with what is to be done once it counts, or where it must not.
private struct DirectAnswer: AccountReply {
    var answer: CognitoAnswer
    var outcome: AccountOutcome
    var call: TranslatedCall
    /// Of a password, which the call has made.
    var change: CognitoAccounts.StoredChange?
    /// As in the account call.
    var account: String?
    var pool: DirectCognitoPool
    var calls: DirectCognitoCalls
    var requestID: String

    /// Noted in the call already.
    var subject: String? { nil }

    func takeBack() async {
        calls.leave(change, at: pool)
        guard case .signedIn = outcome else { return }
        // In a task of its own: the caller's hanging up must not leave it half-done.
        await Task { await calls.takeBack(answer.refreshToken, from: pool) }.value
    }

    func finish() async throws(DirectCognitoRefusal) {
        guard answer.error == nil else { return }
        try await calls.endTokens(of: call, at: pool)
        try await calls.endOtherSessions(
            of: call, answer, change, account: account, at: pool, requestID: requestID)
    }
}
