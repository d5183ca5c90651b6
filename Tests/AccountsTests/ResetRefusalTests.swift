import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("Refused resets, and passwords to reset")
struct ResetRefusalTests {
    private static let weak = Fixture.failure(
        "InvalidPasswordException", "Password did not conform with policy: Password not long enough")
    private static let mismatch = Fixture.failure("CodeMismatchException")
    private static let expired = Fixture.failure("ExpiredCodeException")
    private static let limited = Fixture.failure("LimitExceededException")
    private static let unknown = Fixture.failure("UserNotFoundException")

    private static func resetting(_ code: String = "123456") -> AccountRequest {
        Fixture.request(
            .resetPassword, ["email": .string(Fixture.email), "code": .string(code), "new_password": "weak"])
    }

    /// By what the pool says to nobody, and to the user with a wrong code: whether a weak password is reported as one,
    /// and whether that is known from then on.
    struct Pool: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var toOthers: [FetchResponse]
        var isReported: Bool
        var isKnown = true
    }

    static let pools = [
        Pool(testDescription: "checks passwords first", toOthers: [weak], isReported: true),
        Pool(testDescription: "checks codes first", toOthers: [mismatch, mismatch], isReported: true),
        Pool(testDescription: "checks codes first, and hides nobody", toOthers: [unknown, expired], isReported: true),
        Pool(testDescription: "checks users first", toOthers: [mismatch, weak], isReported: false),
        Pool(testDescription: "checks users first, and hides nobody", toOthers: [unknown, weak], isReported: false),
        Pool(testDescription: "limits", toOthers: [mismatch, limited], isReported: false, isKnown: false),
        Pool(testDescription: "limits all", toOthers: [limited, mismatch], isReported: false, isKnown: false),
    ]

    @Test("A weak password is reported where that tells nothing of the account", arguments: pools)
    func weakPassword(pool: Pool) async throws {
        let fetcher = RecordedFetcher([.success(Self.weak)] + pool.toOthers.map { .success($0) })
        let log = CapturedLog()
        let accounts = try Fixture.accounts(fetcher, log: log)
        let error: JSON = pool.isReported ? "InvalidPasswordException" : "CodeMismatchException"
        let first = await accounts.answer(Self.resetting())
        #expect(first.status == .unprocessableContent && first.json["error"] == error)
        let asked = await fetcher.bodies
        #expect(asked.count == 1 + pool.toOthers.count)
        #expect(asked.allSatisfy { $0["Password"] == "weak" })
        #expect(asked[1]["Username"] != asked[0]["Username"] && asked[1]["SecretHash"] != asked[0]["SecretHash"])
        if asked.count > 2 {
            #expect(asked[2]["Username"] == asked[0]["Username"])
            #expect(asked[2]["ConfirmationCode"] != asked[0]["ConfirmationCode"])
        }
        #expect(log.lines.contains { $0.contains("before codes") } == (pool.isKnown && !pool.isReported))
        await fetcher.append([Self.weak])
        let second = await accounts.answer(Self.resetting("654321"))
        #expect(second.json["error"] == error)
        #expect(await fetcher.requests.count == asked.count + (pool.isKnown ? 1 : 3))
    }

    @Test("A refused code, and a limit, are nobody else's to be asked about", arguments: [mismatch, expired, limited])
    func wrongCode(answer: FetchResponse) async throws {
        let fetcher = RecordedFetcher(answer)
        let refused = try await Fixture.accounts(fetcher).answer(Self.resetting())
        #expect(refused.json["error"] == "CodeMismatchException")
        #expect(await fetcher.requests.count == 1)
    }

    private static let reset = Fixture.failure("PasswordResetRequiredException", "Password reset required")
    private static let incorrect = Fixture.failure("NotAuthorizedException", "Incorrect username or password.")

    @Test(
        "Where addresses are concealed, only the right password shows that it must be reset",
        arguments: [
            (false, [reset], "PasswordResetRequiredException"),
            (true, [reset, reset], "NotAuthorizedException"),
            (true, [reset, incorrect], "PasswordResetRequiredException"),
            (true, [reset, limited], "NotAuthorizedException"),
        ] as [(Bool, [FetchResponse], String)])
    func passwordToReset(conceals: Bool, answers: [FetchResponse], error: String) async throws {
        var settings = Fixture.settings()
        settings.concealsExistingUsers = conceals
        let fetcher = RecordedFetcher(answers.map { .success($0) })
        let accounts = try Fixture.accounts(fetcher, settings: settings)
        let answer = await accounts.answer(Fixture.login())
        #expect(answer.json["error"]?.stringValue == error)
        #expect(await fetcher.requests.count == answers.count)
        #expect(answer.reason == .cognito(.passwordResetRequired))
        // It locks where it looks like a wrong password.
        let looksWrong = error == "NotAuthorizedException"
        #expect(answer.reason?.isGuess(refusedWith: looksWrong ? .notAuthorized : .passwordResetRequired) == looksWrong)
    }
}
