package import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Locking
package import Logging
package import Pipeline

/// Handles apps' own calls to Cognito and adds the app client's secret. Each call for a pool here goes through the
/// steps of an account call.
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
    ///   - pools: at least one; a call that names none belongs to the first.
    ///   - steps: kept across reloads, like `sessions`.
    ///   - shared: the store that shares steps and sessions with other gateways; nil if there are none.
    ///   - revoke: revokes access tokens after a sign-out or the deletion of a user.
    ///   - accounts: the pools' account endpoints, which end sessions after a password change.
    ///   - forget: deletes the session records of a deleted user.
    ///   - revocations: returns the current revocation list.
    ///   - revocationTime: the latest time known to have passed, in seconds since 1970, so that no token stays valid
    ///     because of a slow clock.
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

    /// Answers a call. Never throws: every failure becomes a response in Cognito's format.
    package func answer(_ request: DirectCognitoRequest) async -> DirectCognitoReply {
        guard let operation = request.call.operation, ClientOperation.proof(of: operation) != nil,
            let first = pools.first
        else { return DirectCognitoReply(DirectCognitoRefusal.notCarriedOut, requestID: request.requestID) }
        // The call as far as it is known, also after a failure.
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

    /// A call after parsing.
    private struct ReadCall {
        var call: TranslatedCall
        var pool: DirectCognitoPool
        var step: SignInSteps.Finding
        /// Cognito's internal name of the user; for an unknown step, the name in the call.
        var username: String?

        /// The sign-in that the call continues; nil for a first step, or if it is unknown.
        var signIn: SignInUnderWay? { if case .known(let signIn) = step { signIn } else { nil } }

        var isConsistent: Bool {
            switch step {
            case .known(let signIn): call.account.map(signIn.goesUnder) ?? true
            case .unknown: true
            case .contradictory: false
            }
        }
    }

    /// Parses a call and finds its pool. A malformed call counts as one for the first pool.
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
        // A caller with the refresh token belongs to its session, whatever Cognito's response.
        call.session = try await sessionClaims(by: translated.refreshDigest).flatMap { CalledSession($0) }
        call.device = translated.deviceKey.map { DeviceInfo(directDevice: $0) }
        var read = ReadCall(call: translated, pool: pool, step: try await findStep(translated.shownDigests))
        read.username = identify(&call, read)
        return read
    }

    /// Adds the user of the call's access token. A token that cannot be verified refuses the call: it must not count
    /// against a user whom it only names. The user of a refresh token is not known here.
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

    /// Assigns a step to the account that its sign-in began with, whatever name the step contains.
    ///
    /// - Returns: as ``ReadCall/username``.
    private func identify(_ call: inout AccountCall, _ read: ReadCall) -> String? {
        guard call.operation == .challenge else { return nil }
        guard let signIn = read.signIn else {
            // Each digest is a row for a failure; genuine calls have at most two.
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
        let names = [admission.call.account].compactMap { $0 } + (read.signIn?.usernames ?? []).map(\.text)
        let change = try await storeChange(by: call, named: names, at: read.pool, requestID: request.requestID)
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
            names: names, pool: read.pool, calls: self, requestID: request.requestID)
    }

    /// Counts the code that a step of a sign-in may send, and those to the addresses of a registration. Other calls
    /// that send a message are counted as such by their budget.
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

    /// Returns the seconds for which the call's account is locked; nil if it is not, or if the call guesses nothing.
    private func closedFor(_ admission: inout Admission, as username: String?) async -> Int? {
        guard admission.call.operation.budget == .signIn else { return nil }
        return await flow.accountGuard.identify(&admission, as: username)
    }

    /// Returns the outcome of a call, and adds to `call` what the response shows about it.
    private func note(
        _ answer: CognitoAnswer, to translated: TranslatedCall, in call: inout AccountCall
    ) -> AccountOutcome {
        let outcome = answer.outcome
        // A token that Cognito has accepted is genuine.
        if answer.error == nil {
            call.subject = translated.claimed.subject
            call.session = call.session ?? translated.claims.flatMap { CalledSession($0) }
        }
        guard case .signedIn(let user) = outcome else { return outcome }
        call.subject = user.id
        if let device = answer.newDeviceKey { call.device = DeviceInfo(directDevice: device) }
        return call.operation == .refresh ? .succeeded : outcome
    }

    /// Stores the sign-in for its next step, if this step's sign-in is known.
    private func note(
        _ answer: CognitoAnswer, to call: TranslatedCall, of read: ReadCall, _ admission: inout Admission
    ) async {
        let begun = admission.call.operation == .login ? admission.call.account : nil
        guard var next = read.signIn ?? begun.map({ SignInUnderWay(account: $0) }) else { return }
        // In every flow, Cognito requires a new password only after a right one.
        next.isPasswordProven = next.isPasswordProven || call.provesPassword || answer.asksForNewPassword
        for name in answer.internalNames.exact where !next.usernames.contains(name) { next.usernames.append(name) }
        await noteStep(next, by: read.pool.stepDigests(given: answer.output, deviceKey: call.deviceKey))
        if let username = answer.internalNames.first { _ = await closedFor(&admission, as: username) }
    }
}

/// Cognito's response to a direct call, with the steps that follow if it counts or if it is refused.
private struct DirectAnswer: AccountReply {
    var answer: CognitoAnswer
    var outcome: AccountOutcome
    var call: TranslatedCall
    /// The stored password change of the call.
    var change: CognitoAccounts.StoredChange?
    /// The user's names, if the call is a step of a sign-in.
    var names: [String]
    var pool: DirectCognitoPool
    var calls: DirectCognitoCalls
    var requestID: String

    /// The call has it already.
    var subject: String? { nil }

    func takeBack() async {
        calls.leave(change, at: pool)
        guard case .signedIn = outcome else { return }
        // A separate task: a client that disconnects must not interrupt the work.
        await Task { await calls.takeBack(answer.refreshToken, from: pool) }.value
    }

    func finish() async throws(DirectCognitoRefusal) {
        guard answer.error == nil else { return }
        try await calls.endTokens(of: call, at: pool)
        try await calls.endOtherSessions(
            of: call, answer, change, named: names, at: pool, requestID: requestID)
    }
}
