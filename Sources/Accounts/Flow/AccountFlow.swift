package import Encoding
internal import HTTPTypes
package import Pipeline

extension AccountOperation {
    /// The code message of a sign-in, which is counted like other messages. It has no endpoint.
    static let signInCode = AccountOperation("sign-in-code", .post, budget: .messages)
}

/// The steps of every account call, whether of an endpoint here or of a Cognito operation carried out for an app:
/// prepare, admit, perform, end.
package struct AccountFlow: Sendable {
    let accountGuard: any AccountGuard

    package init(_ accountGuard: any AccountGuard) {
        self.accountGuard = accountGuard
    }

    /// Runs a call through all steps.
    ///
    /// - Parameters:
    ///   - call: the facts known without the body.
    ///   - prepare: parses the body, unseals the client's values, and adds to the call the account it is about.
    ///   - perform: carries out the call.
    /// - Throws: the refusal of any of these, or of the guard.
    package func run<Prepared, Reply: AccountReply>(
        _ call: AccountCall, prepare: (inout AccountCall) async throws(Reply.Failure) -> Prepared,
        perform: (Prepared, inout Admission) async throws(Reply.Failure) -> Reply
    ) async throws(Reply.Failure) -> Reply {
        var call = call
        let prepared: Result<Prepared, Reply.Failure>
        do throws(Reply.Failure) {
            prepared = .success(try await prepare(&call))
        } catch {
            prepared = .failure(error)
        }
        // A call that cannot be read counts as well: it costs about as much, and a caller with invalid tokens may be
        // guessing.
        var admission = try await admit(call, Reply.Failure.self)
        var reply: Reply
        do throws(Reply.Failure) {
            reply = try await perform(prepared.get(), &admission)
        } catch {
            // The refusal stands, whatever the guard's result.
            try? await accountGuard.end(admission, error.outcome)
            throw error
        }
        admission.call.subject = reply.subject ?? admission.call.subject
        do throws(Refusal) {
            let user = try await accountGuard.endShowingUser(admission, reply.outcome)
            if let user { reply.show(user) }
        } catch {
            await reply.takeBack()
            throw Reply.Failure(error)
        }
        try await reply.finish()
        return reply
    }

    /// Counts a message of a sign-in in the budget of messages, before it is known whether one will be sent.
    ///
    /// - Parameter isForNewAddress: whether the call names the address. The user's known device then does not count:
    ///   its own budget would allow more messages to any address.
    func countMessage(_ call: AccountCall, isForNewAddress: Bool = false) async throws(Refusal) {
        var message = call
        message.operation = .signInCode
        if isForNewAddress { message.device = nil }
        let admission = try await accountGuard.admit(message)
        try await accountGuard.end(admission, .succeeded)
    }

    /// Counts a message to an address that a call names besides its account, for this address only.
    func countMessage(to address: String, _ call: AccountCall) async throws(Refusal) {
        var message = call
        (message.account, message.isFurtherMessage) = (address, true)
        try await countMessage(message, isForNewAddress: true)
    }

    private func admit<Failure: AccountFailure>(
        _ call: AccountCall, _ type: Failure.Type
    ) async throws(Failure) -> Admission {
        do throws(Refusal) {
            return try await accountGuard.admit(call)
        } catch {
            let failure = Failure(error)
            await accountGuard.refused(call, failure.outcome)
            throw failure
        }
    }
}

/// The result of an account call that was performed: a response, with the steps that depend on whether it counts.
package protocol AccountReply: Sendable {
    associatedtype Failure: AccountFailure

    var outcome: AccountOutcome { get }
    /// The user's `sub`; nil if the call has not shown it.
    var subject: String? { get }
    /// Replaces the user in the reply by this one, if it shows one.
    mutating func show(_ user: JSONObject)
    /// Ends the session that a sign-in has begun, because the guard has refused it. Nobody may get a token of it.
    func takeBack() async
    /// Carries out the last step, once the guard has accepted the call: ends the token with which the call could be
    /// repeated until then.
    func finish() async throws(Failure)
}

extension AccountReply {
    package mutating func show(_ user: JSONObject) {}
}

/// A refusal in the format of the called API.
package protocol AccountFailure: Error {
    /// Creates the failure for a refusal by the guard.
    init(_ refusal: Refusal)

    var outcome: AccountOutcome { get }
}

extension Refusal: AccountFailure {
    package init(_ refusal: Refusal) { self = refusal }

    package var outcome: AccountOutcome { .refused(error, reason: reason) }
}
