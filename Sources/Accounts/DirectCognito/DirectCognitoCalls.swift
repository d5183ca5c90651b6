internal import Cryptography
internal import Encoding
package import HTTPTypes
internal import Locking
package import Logging
package import Pipeline

/// A call for Cognito that an app sent to the gateway, its body read in full.
package struct DirectCognitoRequest: Sendable {
    package var call: DirectCognitoCall
    package var body: [UInt8]
    package var requestID: String
    /// The address of the client as the gateway trusts it.
    package var clientAddress: String
    package var userAgent: String?

    package init(
        call: DirectCognitoCall, body: [UInt8], requestID: String, clientAddress: String, userAgent: String? = nil
    ) {
        self.call = call
        self.body = body
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.userAgent = userAgent
    }
}

/// The whole answer to a ``DirectCognitoRequest``. The body can hold tokens: it is never to be logged.
package struct DirectCognitoReply: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body: [UInt8]
    /// Why it was refused, for the access log; nil for a success.
    package var reason: Reason?
    /// Whether it is Cognito's own answer.
    package var wasAsked: Bool
    /// Whom the call named, and who that is where it is known: for the audit log.
    package var account: String?
    package var subject: String?
}

/// Carries out what apps call Cognito for, with the app client's secret added. Each call that is meant for a pool here
/// passes the observers of account calls.
package struct DirectCognitoCalls: Sendable {
    private let pools: [DirectCognitoPool]
    private let observers: [any AccountObserver]
    private let steps: SignInSteps
    let revoke: CognitoAccounts.TokenRevocation
    let forget: @Sendable (_ subject: String, _ poolID: String) async throws -> Void
    let isRevoked: @Sendable (VerifiedToken) -> Bool
    let revocationTime: @Sendable () -> Int64
    private let now: @Sendable () -> Int64
    let logger: Logger

    /// - Parameters:
    ///   - pools: at least one; what names none is the first one's.
    ///   - steps: kept through reloads.
    ///   - revoke: ends the access tokens of who has signed out everywhere, or is gone.
    ///   - forget: forgets the sessions of a user who is gone.
    ///   - isRevoked: whether a token is on the revocation list.
    ///   - revocationTime: the time by which tokens are revoked, in seconds since 1970: that of the latest sign-in or later, also while
    ///     the clock is behind.
    ///   - now: seconds since 1970.
    package init(
        pools: [DirectCognitoPool], observers: [any AccountObserver] = [], steps: SignInSteps,
        revoke: @escaping CognitoAccounts.TokenRevocation,
        forget: @escaping @Sendable (_ subject: String, _ poolID: String) async throws -> Void,
        isRevoked: @escaping @Sendable (VerifiedToken) -> Bool, revocationTime: @escaping @Sendable () -> Int64,
        now: @escaping @Sendable () -> Int64, logger: Logger
    ) {
        self.pools = pools
        self.observers = observers
        self.steps = steps
        self.revoke = revoke
        self.forget = forget
        self.isRevoked = isRevoked
        self.revocationTime = revocationTime
        self.now = now
        self.logger = logger
    }

    /// Answers a call. Never fails: every failure is an answer in Cognito's own shape.
    package func answer(_ request: DirectCognitoRequest) async -> DirectCognitoReply {
        do throws(DirectCognitoRefusal) {
            guard let operation = request.call.operation, ClientOperation.proof(of: operation) != nil else {
                throw .notCarriedOut
            }
            let (call, pool) = try await read(operation, request)
            return await answer(call, of: pool, request)
        } catch {
            return DirectCognitoReply(error, requestID: request.requestID)
        }
    }

    /// Reads a call and finds the pool that it is for. A malformed one costs about as much as another: it counts as a
    /// call of the first pool's.
    private func read(
        _ operation: String, _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> (TranslatedCall, DirectCognitoPool) {
        guard let first = pools.first else { throw .notCarriedOut }
        do throws(DirectCognitoRefusal) {
            let input = try DirectCognitoTranslation.input(request.body)
            let pool = pools.first { $0.isMeant(by: input) } ?? first
            let translation = DirectCognitoTranslation(pool: pool)
            return (try translation.call(operation, input, clientAddress: request.clientAddress), pool)
        } catch let malformed {
            let call = AccountCall(malformed: operation, request, poolID: first.poolID)
            _ = try await admitted(call) { () throws(DirectCognitoRefusal) in throw malformed }
            throw malformed
        }
    }

    private func answer(
        _ call: TranslatedCall, of pool: DirectCognitoPool, _ request: DirectCognitoRequest
    ) async -> DirectCognitoReply {
        var told = AccountCall(call, request, poolID: pool.poolID)
        let step = steps.find(call.shownDigests)
        let signIn: SignInUnderWay? = if case .known(let signIn) = step { signIn } else { nil }
        let username = identify(&told, call, signIn)
        var reply: DirectCognitoReply
        do throws(DirectCognitoRefusal) {
            let answer = try await admitted(told) { () throws(DirectCognitoRefusal) in
                var call = call
                guard Self.isConsistent(call, step) else { throw .otherUser }
                if let seconds = await closedFor(told, as: username) {
                    try DirectCognitoTranslation(pool: pool).fail(&call, closedFor: seconds, in: signIn)
                }
                return try await carryOut(call, of: pool, request)
            }
            let outcome = note(answer, to: call, in: &told)
            await note(answer, to: call, in: signIn, told, pool)
            do throws(DirectCognitoRefusal) {
                for observer in observers {
                    try await Self.translated { () throws(Refusal) in try await observer.ended(told, outcome) }
                }
            } catch {
                // In a task of its own: the caller's hanging up must not leave it half-done.
                if case .signedIn = outcome { await Task { await takeBack(answer, from: pool) }.value }
                throw error
            }
            // Last: until then the access token is what one can try again with.
            if answer.error == nil { try await endTokens(of: call, at: pool) }
            reply = DirectCognitoReply(answer, requestID: request.requestID)
        } catch {
            reply = DirectCognitoReply(error, requestID: request.requestID)
        }
        (reply.account, reply.subject) = (told.account, told.subject)
        return reply
    }

    private static func isConsistent(_ call: TranslatedCall, _ step: SignInSteps.Finding) -> Bool {
        switch step {
        case .known(let signIn): call.account.map(signIn.goesUnder) ?? true
        case .unknown: true
        case .contradictory: false
        }
    }

    /// A step comes under the account that its sign-in began with, whatever name is in it.
    ///
    /// - Returns: Cognito's own name for the user; of an unknown step what it claims that to be.
    private func identify(_ told: inout AccountCall, _ call: TranslatedCall, _ signIn: SignInUnderWay?) -> String? {
        guard told.operation == .challenge else { return nil }
        guard let signIn else {
            // Each is a row for a failure; real calls show two at most.
            told.unknownStep = Array(call.shownDigests.prefix(4))
            return call.account
        }
        told.account = signIn.account
        return signIn.usernames.first?.text
    }

    /// Reports refusals of the gateway's own to all observers. A refusal stands, whatever they throw.
    private func admitted(
        _ call: AccountCall, _ body: () async throws(DirectCognitoRefusal) -> CognitoAnswer
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        do throws(DirectCognitoRefusal) {
            for observer in observers {
                try await Self.translated { () throws(Refusal) in try await observer.admit(call) }
            }
            return try await body()
        } catch {
            for observer in observers {
                try? await observer.ended(call, .refused(error.gatewayError, reason: error.auditReason))
            }
            throw error
        }
    }

    /// For how many seconds the account is closed that a call is of; nil where it is not, or guesses nothing.
    private func closedFor(_ call: AccountCall, as username: String?) async -> Int? {
        guard call.operation == .login || call.operation == .challenge else { return nil }
        var longest: Int?
        for observer in observers {
            if let seconds = await observer.identified(call, as: username) { longest = max(seconds, longest ?? 0) }
        }
        return longest
    }

    /// The outcome of a call. Adds to `call` what the answer shows about it.
    private func note(
        _ answer: CognitoAnswer, to translated: TranslatedCall, in call: inout AccountCall
    ) -> AccountOutcome {
        let outcome = answer.outcome
        // A token that Cognito has taken is what it says.
        if answer.error == nil { call.subject = translated.claimed.subject }
        guard case .signedIn(let user) = outcome else { return outcome }
        call.subject = user.id
        if let device = answer.newDeviceKey { call.device = DeviceInfo(directDevice: device) }
        return call.operation == .refresh ? .succeeded : outcome
    }

    /// Notes whose the next step of a sign-in is, where it is known whose this one was.
    private func note(
        _ answer: CognitoAnswer, to call: TranslatedCall, in signIn: SignInUnderWay?, _ told: AccountCall,
        _ pool: DirectCognitoPool
    ) async {
        let begun = told.operation == .login ? told.account.map { SignInUnderWay(account: $0) } : nil
        guard var next = signIn ?? begun else { return }
        next.isPasswordProven = next.isPasswordProven || call.provesPassword
        for name in answer.internalNames.exact where !next.usernames.contains(name) { next.usernames.append(name) }
        steps.note(next, by: pool.stepDigests(given: answer.output))
        if let username = answer.internalNames.first { _ = await closedFor(told, as: username) }
    }

    private static func translated(
        _ body: () async throws(Refusal) -> Void
    ) async throws(DirectCognitoRefusal) {
        do {
            try await body()
        } catch {
            throw DirectCognitoRefusal(error)
        }
    }
}
