package import Encoding
internal import HTTPTypes
package import Pipeline

extension AccountOperation {
    /// The message of a sign-in with a code, which is counted as other messages are. No endpoint has it.
    static let signInCode = AccountOperation("sign-in-code", .post, budget: .messages)
}

/// The one way of every account call, be it a call of an endpoint here or of Cognito's that is carried out for an app:
/// read, admitted, performed, ended.
package struct AccountFlow: Sendable {
    let accountGuard: any AccountGuard

    package init(_ accountGuard: any AccountGuard) {
        self.accountGuard = accountGuard
    }

    /// - Parameters:
    ///   - call: what is known of it without its body.
    ///   - prepare: reads the body and opens what the client holds for the gateway, and adds to the call whom it is
    ///     about.
    ///   - perform: does what it asks for.
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
        // A call that cannot be read counts as well: it costs about as much, and who shows a token that is none may be
        // trying some out.
        var admission = try await admit(call, Reply.Failure.self)
        var reply: Reply
        do throws(Reply.Failure) {
            reply = try await perform(prepared.get(), &admission)
        } catch {
            // The refusal stands, whatever the guard says to it.
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
    /// - Parameter isForNewAddress: whether the call names the address. Then the device that the user has signed in from
    ///   does not count: it would give its user more messages to anybody.
    func countMessage(_ call: AccountCall, isForNewAddress: Bool = false) async throws(Refusal) {
        var message = call
        message.operation = .signInCode
        if isForNewAddress { message.device = nil }
        let admission = try await accountGuard.admit(message)
        try await accountGuard.end(admission, .succeeded)
    }

    /// Counts a message to an address that a call names beside its account, for this address alone.
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

/// The result of an account call that was performed: an answer, with the steps that depend on whether it counts.
package protocol AccountReply: Sendable {
    associatedtype Failure: AccountFailure

    var outcome: AccountOutcome { get }
    /// The user's `sub`, where the call has shown it.
    var subject: String? { get }
    /// Puts this user in place of the one in the reply, if there is one.
    mutating func show(_ user: JSONObject)
    /// Ends the session that a sign-in has begun: the guard lets it not count, and nobody is to have a token of it.
    func takeBack() async
    /// The last step, once the guard has let it count: ends the token by which the call can be repeated until then.
    func finish() async throws(Failure)
}

extension AccountReply {
    package mutating func show(_ user: JSONObject) {}
}

/// A refusal in the form of the API that was called.
package protocol AccountFailure: Error {
    /// The guard's refusal in this form.
    init(_ refusal: Refusal)

    var outcome: AccountOutcome { get }
}

extension Refusal: AccountFailure {
    package init(_ refusal: Refusal) { self = refusal }

    package var outcome: AccountOutcome { .refused(error, reason: reason) }
}
