import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("Guesses at a current password by calls with a token")
struct PasswordGuessTests {
    private static let account = "pool/user/ada"
    private let calls = AccountLimitsTests()

    /// A call with a token of a session, and with a current password.
    private func call(of session: String?, account: String = PasswordGuessTests.account) -> LimitedCall {
        let subject = "subject of \(account)"
        var call = LimitedCall(budget: .account, account: subject, clientAddress: "192.0.2.1")
        call.guess = LimitedCall.Guess(account: account, subject: subject, session: session)
        return call
    }

    /// Limits that know which account the name is of.
    private func limits() async throws -> AccountLimits {
        let limits = calls.limits(try calls.store())
        await limits.succeeded(try await limits.admit(calls.signIn()), calls.signIn(), as: Self.account)
        return limits
    }

    @Test("Strangers without a token lock none of these calls")
    func strangers() async throws {
        let limits = try await limits()
        try await calls.fail(limits, calls.signIn(), times: 5)
        #expect(await calls.reached(limits, calls.signIn()) == .lockout)
        for session in ["owner", nil] as [String?] { #expect(await calls.reached(limits, call(of: session)) == nil) }
    }

    @Test(
        "Wrong ones lock these calls for all sessions of the account, and the sign-in",
        arguments: ["thief", nil] as [String?])
    func wrong(session: String?) async throws {
        let limits = try await limits()
        try await calls.fail(limits, call(of: session), times: 5)
        for other in ["thief", "owner", nil] as [String?] {
            #expect(await calls.reached(limits, call(of: other)) == .lockout)
        }
        #expect(await calls.reached(limits, call(of: "thief", account: "pool/user/eve")) == nil)
        var signIn = try await limits.admit(calls.signIn())
        #expect(await limits.identify(&signIn, calls.signIn(), as: nil)?.cause == .lockout)
        limits.ended(signIn)
    }

    @Test("The right one in one session gives no more guesses to another")
    func right() async throws {
        let limits = try await limits()
        try await calls.fail(limits, call(of: "thief"), times: 4)
        try await calls.succeed(limits, call(of: "owner"))
        try await calls.fail(limits, call(of: "thief"))
        #expect(await calls.reached(limits, call(of: "thief")) == .lockout)
        #expect(await calls.reached(limits, call(of: "owner")) == nil)
    }

    @Test("A password reset unlocks the account's other sessions, and not the one that has guessed")
    func reset() async throws {
        let limits = try await limits()
        try await calls.fail(limits, call(of: "thief"), times: 5)
        await limits.unlock(account: "ada@example.com", subjects: ["subject of \(Self.account)"])
        #expect(await calls.reached(limits, call(of: "owner")) == nil)
        #expect(await calls.reached(limits, call(of: "thief")) == .lockout)
    }

    @Test("Those made at the same time do not get in before the first is wrong, and count for nothing when they end")
    func parallel() async throws {
        let limits = try await limits()
        var admitted: [AdmittedCall] = []
        for number in 0..<100 {
            if let call = try? await limits.admit(call(of: "session-\(number)")) { admitted.append(call) }
        }
        #expect(admitted.count == 5)
        for call in admitted { limits.ended(call) }
        #expect(await calls.reached(limits, call(of: "owner")) == nil)
        var signIn = try await limits.admit(calls.signIn())
        #expect(await limits.identify(&signIn, calls.signIn(), as: nil) == nil)
        limits.ended(signIn)
    }

    @Test("Names that differ in case have locks of their own, and a right one forgets nothing of the other's")
    func otherCase() async throws {
        let limits = try await limits()
        let other = "pool/user/ADA"
        try await calls.fail(limits, call(of: "own", account: other), times: 5)
        #expect(await calls.reached(limits, call(of: "owner")) == nil)
        clock.advance(seconds: 3600)
        try await calls.fail(limits, call(of: "owner"), times: 4)
        let right = call(of: "own", account: other)
        await limits.succeeded(try await limits.admit(right), right) { false }
        try await calls.fail(limits, call(of: "owner"))
        #expect(await calls.reached(limits, call(of: "owner")) == .lockout)
    }

    private var clock: ManualClock { calls.clock }
}
