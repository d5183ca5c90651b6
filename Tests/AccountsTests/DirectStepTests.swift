import ClockSteps
import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

/// A guard by which accounts are closed, and that keeps what it was asked.
final class Closing: AccountGuard {
    private let closed: Set<String>
    private let asked = Mutex<[AccountCall]>([])
    /// The calls, as they were when their account was looked for.
    var calls: [AccountCall] { asked.withLock { $0 } }

    /// - Parameter closed: Cognito's own names of users, or what was typed.
    init(_ closed: Set<String>) { self.closed = closed }

    func admit(_ call: AccountCall) async throws(Refusal) -> Admission { Admission(call) }
    func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {}
    func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {}
    func identify(_ admission: inout Admission, as username: String?) async -> Int? {
        note(admission.call)
        return closed.contains(username ?? admission.call.account ?? "") ? 9 : nil
    }

    private func note(_ call: AccountCall) { asked.withLock { $0.append(call) } }
}

@Suite("Steps of translated sign-ins")
struct DirectStepTests {
    static let closed = "closed@example.com"

    /// A challenge of Cognito's, with the parts that its answer needs.
    static func challenge(_ name: String, session: String? = nil, block: String? = nil) -> FetchResponse {
        var parameters: JSONObject = ["USER_ID_FOR_SRP": .string(Fixture.username)]
        parameters["SECRET_BLOCK"] = block.map(JSON.string)
        var output: JSONObject = ["ChallengeName": .string(name), "ChallengeParameters": .object(parameters)]
        output["Session"] = session.map(JSON.string)
        return FetchResponse(status: 200, body: output.encoded())
    }

    static func initiate(_ flow: String, _ name: String = Fixture.email, _ more: JSONObject = [:]) -> JSONObject {
        var parameters: JSONObject = ["USERNAME": .string(name)]
        for (name, value) in more { parameters[name] = value }
        return [
            "AuthFlow": .string(flow), "ClientId": .string(Fixture.clientID), "AuthParameters": .object(parameters),
        ]
    }

    static func respond(
        _ challenge: String, as name: String = Fixture.username, session: String? = nil, _ more: JSONObject = [:]
    ) -> JSONObject {
        var responses: JSONObject = ["USERNAME": .string(name)]
        for (name, value) in more { responses[name] = value }
        var body: JSONObject = [
            "ChallengeName": .string(challenge), "ClientId": .string(Fixture.clientID),
            "ChallengeResponses": .object(responses),
        ]
        body["Session"] = session.map(JSON.string)
        return body
    }

    /// A gateway's direct calls.
    struct Calls {
        let fetcher: RecordedFetcher
        let observer: any AccountGuard
        let calls: DirectCognitoCalls

        init(
            _ observer: any AccountGuard, _ answers: [FetchResponse], steps: SignInSteps? = nil,
            shared: SharedValues? = nil
        ) {
            fetcher = RecordedFetcher(answers.map { .success($0) })
            self.observer = observer
            calls = DirectCognitoCalls(
                pools: [DirectCognitoTests.pool(fetcher)], flow: AccountFlow(observer),
                steps: steps ?? SignInSteps { Fixture.now },
                sessions: DirectSessions { Fixture.now }, shared: shared, revoke: { _ in }, forget: { _, _ in },
                revocations: { .empty }, revocationTime: { Fixture.now },
                logger: CapturedLog().logger)
        }

        @discardableResult
        func send(_ body: JSONObject) async -> JSON {
            let operation = body["AuthFlow"] == nil ? "RespondToAuthChallenge" : "InitiateAuth"
            let call = DirectCognitoCall(operation: operation, application: "a")
            let reply = await calls.answer(
                DirectCognitoRequest(call: call, body: body.encoded(), requestID: "r", clientAddress: "192.0.2.7"))
            return (try? JSON.parse(reply.body)) ?? .null
        }
    }

    static let wrong = Fixture.failure("NotAuthorizedException", "Incorrect username or password.")
    static let mismatch = Fixture.failure("CodeMismatchException", "Invalid code received for user")

    // MARK: The owner of a step

    @Test("A step comes under the name that its sign-in began with, by session and by secret block")
    func names() async throws {
        let observer = RecordedCalls()
        let calls = Calls(
            observer,
            [
                Self.challenge("PASSWORD_VERIFIER", block: "1-block"), Self.challenge("SMS_MFA", session: "1-session"),
                Self.mismatch,
            ])
        await calls.send(Self.initiate("USER_SRP_AUTH"))
        await calls.send(Self.respond("PASSWORD_VERIFIER", ["PASSWORD_CLAIM_SECRET_BLOCK": "1-block"]))
        await calls.send(Self.respond("SMS_MFA", as: Fixture.email, session: "1-session", ["SMS_MFA_CODE": "123456"]))
        #expect(observer.entries.map(\.call.account) == [String?](repeating: Fixture.email, count: 6))
        #expect(observer.entries.allSatisfy { $0.call.unknownStep == nil })
        guard case .refused(.codeMismatch, reason: .cognito(.codeMismatch)) = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("Under another name a step that is known is refused, and Cognito is not asked")
    func otherNames() async throws {
        let observer = RecordedCalls()
        let calls = Calls(observer, [Self.challenge("PASSWORD_VERIFIER", block: "1-block")])
        await calls.send(Self.initiate("USER_SRP_AUTH"))
        for name in ["made-up@example.com", Fixture.username + "1"] {
            let answer = await calls.send(
                Self.respond("PASSWORD_VERIFIER", as: name, ["PASSWORD_CLAIM_SECRET_BLOCK": "1-block"]))
            #expect(answer["message"] == "Invalid session for the user.")
        }
        #expect(await calls.fetcher.operations == ["InitiateAuth"])
        #expect(observer.entries.last?.call.account == Fixture.email)
    }

    @Test("A step that shows nothing known is nobody's; one that is known in part is refused")
    func unknown() async throws {
        let observer = RecordedCalls()
        let begun = [
            Self.challenge("SMS_MFA", session: "1-session"),
            Self.challenge("SMS_MFA", session: "2-session", block: "2-block"),
        ]
        let calls = Calls(observer, begun + [Self.mismatch, Self.mismatch])
        await calls.send(Self.initiate("USER_PASSWORD_AUTH"))
        await calls.send(Self.initiate("USER_PASSWORD_AUTH", "eve@example.com"))
        for body in [Self.respond("SMS_MFA", session: "elsewhere"), Self.respond("DEVICE_SRP_AUTH")] {
            await calls.send(body)
        }
        let steps = observer.entries.map(\.call).filter { $0.operation == .challenge }
        #expect(steps.map(\.account) == [String?](repeating: Fixture.username, count: 4))
        #expect(steps.map(\.unknownStep?.count) == [1, 1, 0, 0])
        var twice = Self.respond("SMS_MFA", session: "1-session")
        twice["session"] = "elsewhere"
        for body in [
            twice, Self.respond("SMS_MFA", session: "1-session", ["PASSWORD_CLAIM_SECRET_BLOCK": "2-block"]),
            Self.respond("SMS_MFA", session: "1-session", ["password_claim_secret_block": 7]),
            Self.respond("SMS_MFA", session: "elsewhere", ["PASSWORD_CLAIM_SECRET_BLOCK": "2-block"]),
        ] { #expect(await calls.send(body)["message"] == "Invalid session for the user.") }
        #expect(await calls.fetcher.requests.count == 4)
    }

    @Test("A device's first step without a session is one of the sign-in for which Cognito has asked for the device")
    func deviceWithoutSession() async throws {
        let observer = RecordedCalls()
        let calls = Calls(
            observer,
            [
                Self.challenge("PASSWORD_VERIFIER", block: "1-block"), Self.challenge("DEVICE_SRP_AUTH"),
                Self.challenge("DEVICE_PASSWORD_VERIFIER", block: "2-block"), Fixture.tokens(), Self.mismatch,
            ])
        let key: JSON = "eu-central-1_device-1"
        await calls.send(Self.initiate("USER_SRP_AUTH", Fixture.email, ["DEVICE_KEY": key]))
        await calls.send(
            Self.respond("PASSWORD_VERIFIER", ["PASSWORD_CLAIM_SECRET_BLOCK": "1-block", "DEVICE_KEY": key]))
        await calls.send(Self.respond("DEVICE_SRP_AUTH", ["DEVICE_KEY": key]))
        await calls.send(
            Self.respond("DEVICE_PASSWORD_VERIFIER", ["PASSWORD_CLAIM_SECRET_BLOCK": "2-block", "DEVICE_KEY": key]))
        #expect(observer.entries.map(\.call.account) == [String?](repeating: Fixture.email, count: 8))
        #expect(observer.entries.allSatisfy { $0.call.unknownStep == nil })
        // Cognito has asked for no such device.
        await calls.send(Self.respond("DEVICE_SRP_AUTH", ["DEVICE_KEY": "eu-central-1_device-2"]))
        #expect(observer.entries.last?.call.unknownStep?.count == 1)
        let other = await calls.send(Self.respond("DEVICE_SRP_AUTH", as: "eve@example.com", ["DEVICE_KEY": key]))
        #expect(other["message"] == "Invalid session for the user.")
    }

    @Test(
        "Another spelling of the same bytes is the same step",
        arguments: ["A-_bCd", "A+/bCd==", " A-/\tbCc", "A-_bCd="])
    func spellings(session: String) async throws {
        let observer = RecordedCalls()
        let calls = Calls(observer, [Self.challenge("SMS_MFA", session: "A+/bCd"), Self.mismatch])
        await calls.send(Self.initiate("USER_PASSWORD_AUTH"))
        await calls.send(Self.respond("SMS_MFA", session: session))
        #expect(observer.entries.allSatisfy { $0.call.unknownStep == nil && $0.call.account == Fixture.email })
    }

    @Test("What follows on an unknown step is unknown too")
    func unknownFollows() async throws {
        let observer = RecordedCalls()
        let calls = Calls(observer, [Self.challenge("SMS_MFA", session: "next"), Self.mismatch])
        await calls.send(Self.respond("PASSWORD_VERIFIER", ["PASSWORD_CLAIM_SECRET_BLOCK": "elsewhere"]))
        await calls.send(Self.respond("SMS_MFA", session: "next"))
        #expect(observer.entries.allSatisfy { $0.call.unknownStep?.count == 1 })
    }

    @Test("A session goes on through the set-up of an authenticator app")
    func setUp() async throws {
        let steps = SignInSteps { Fixture.now }
        let calls = Calls(
            RecordedCalls(),
            [
                Self.challenge("MFA_SETUP", session: "1-session"),
                FetchResponse(status: 200, body: JSON.object(["SecretCode": "A", "Session": "session-two"]).encoded()),
            ], steps: steps)
        await calls.send(Self.initiate("USER_PASSWORD_AUTH"))
        _ = await calls.calls.answer(
            DirectCognitoRequest(
                call: DirectCognitoCall(operation: "AssociateSoftwareToken", application: "a"),
                body: JSON.object(["Session": "1-session"]).encoded(), requestID: "r", clientAddress: "192.0.2.7"))
        let digests = DirectCognitoTests.pool().stepDigests(given: ["Session": "session-two"])
        guard case .known(let signIn) = steps.find(digests) else { return #expect(Bool(false)) }
        #expect(signIn.account == Fixture.email && signIn.isPasswordProven)
    }

    @Test("Steps are held for a quarter of an hour and a bounded number of them")
    func bounds() {
        let time = Mutex<Int64>(0)
        let steps = SignInSteps(capacity: 16) { time.withLock { $0 } }
        for number in 0..<40 { steps.note(SignInUnderWay(account: "a\(number)"), by: ["d\(number)"]) }
        let known = (0..<40).filter { steps.find(["d\($0)"]) != .unknown }
        #expect(known.count <= 16 && known.contains(39))
        time.withLock { $0 = 899 }
        #expect(steps.find(["d39"]) == .known(SignInUnderWay(account: "a39")))
        time.withLock { $0 = 900 }
        #expect(steps.find(["d39"]) == .unknown)
        #expect(steps.find([]) == .unknown)
    }

    @Test("A step is known again when a clock that was wrong is right", arguments: ClockSteps.passing)
    func steps(steps: ClockSteps) async {
        let clock = ManualClock()
        let stored = SignInSteps { clock.now / 1000 }
        stored.note(SignInUnderWay(account: "ada"), by: ["d"])
        await clock.take(steps) {
            // Whoever cannot be placed counts as unknown, by address.
            let isKnown = stored.find(["d"]) == .known(SignInUnderWay(account: "ada"))
            #expect(isKnown == (steps != .aheadAndBack))
        }
        clock.advance(seconds: 899)
        #expect(stored.find(["d"]) == .known(SignInUnderWay(account: "ada")))
        clock.advance(seconds: 1)
        #expect(stored.find(["d"]) == .unknown)
    }

    // MARK: Closed accounts

    @Test("A closed account's first step asks for nobody, and is answered as a wrong password is")
    func closedFirst() async throws {
        let answers = [
            Self.wrong, Fixture.failure("UserNotFoundException", "User does not exist."), Fixture.tokens(),
        ]
        let calls = Calls(Closing([Self.closed]), answers)
        for _ in answers {
            let answer = await calls.send(Self.initiate("USER_PASSWORD_AUTH", Self.closed, ["PASSWORD": "p"]))
            #expect(answer["__type"] == "NotAuthorizedException")
            #expect(answer["message"] == "Incorrect username or password.")
        }
        for body in await calls.fetcher.bodies {
            let name = try #require(body["AuthParameters"]?["USERNAME"]?.stringValue)
            #expect(name.hasSuffix("@gatehouse.invalid"))
            #expect(body["AuthParameters"]?["PASSWORD"]?.stringValue?.count == 48)
            let secret = Secret(Fixture.clientSecret)
            let hash = secretHash(username: name, clientID: Fixture.clientID, clientSecret: secret)
            #expect(body["AuthParameters"]?["SECRET_HASH"] == .string(hash))
        }
    }

    @Test(
        "A first step that reads no password goes on for a closed account as for any other",
        arguments: ["USER_SRP_AUTH", "USER_AUTH", "CUSTOM_AUTH"])
    func closedWithoutPassword(flow: String) async throws {
        for name in [Self.closed, Fixture.email] {
            let calls = Calls(Closing([Self.closed]), [Self.challenge("PASSWORD_VERIFIER", block: "1-block")])
            let answer = await calls.send(
                Self.initiate(flow, name, ["PASSWORD": "p", "PREFERRED_CHALLENGE": "EMAIL_OTP"]))
            #expect(answer["ChallengeName"] == "PASSWORD_VERIFIER")
            let sent = try #require(await calls.fetcher.bodies.first?["AuthParameters"])
            #expect(sent["USERNAME"] == .string(name))
            #expect((sent["PASSWORD"] == "p") == (name == Fixture.email))
        }
    }

    @Test(
        "A closed account's step fails by every proof in it, whether it is known whose the step is or not",
        arguments: ["PASSWORD_VERIFIER", "PASSWORD", "SELECT_CHALLENGE"], [true, false])
    func closedProof(challenge: String, isKnown: Bool) async throws {
        let calls = Calls(Closing([Fixture.username]), [Self.challenge(challenge, session: "1-session"), Self.wrong])
        if isKnown { await calls.send(Self.initiate("USER_AUTH")) }
        let proofs: JSONObject = ["PASSWORD": "x", "PASSWORD_CLAIM_SIGNATURE": "s", "ANSWER": "PASSWORD", "NEW": "n"]
        await calls.send(Self.respond(challenge, session: "1-session", proofs))
        let sent = try #require(await calls.fetcher.bodies.last?["ChallengeResponses"])
        #expect(sent["USERNAME"] == .string(Fixture.username))
        #expect(sent["PASSWORD"]?.stringValue?.count == 48)
        #expect(sent["PASSWORD_CLAIM_SIGNATURE"]?.stringValue?.count == 44)
        #expect((sent["ANSWER"] == "PASSWORD") == (challenge == "SELECT_CHALLENGE"))
        #expect(sent["NEW"]?.stringValue?.count == 48)
    }

    @Test(
        "A code that follows on a right password is told that the account is closed; any other one is wrong",
        arguments: ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "EMAIL_OTP", "NEW_PASSWORD_REQUIRED", "password_verifier", ""])
    func closedLater(challenge: String) async throws {
        let begun = Self.challenge(challenge, session: "1-session")
        for flow in ["USER_PASSWORD_AUTH", "USER_AUTH", nil] {
            let calls = Calls(Closing([Fixture.username]), (flow == nil ? [] : [begun]) + [Self.mismatch])
            if let flow { await calls.send(Self.initiate(flow)) }
            let step = Self.respond(challenge, session: "1-session", ["CODE": "123456", "PASSWORD": "x"])
            let answer = await calls.send(step)
            // Cognito asks for a new password after a right one only.
            let isProven = flow == "USER_PASSWORD_AUTH" || flow != nil && challenge == "NEW_PASSWORD_REQUIRED"
            #expect((answer["__type"] == "TooManyRequestsException") == isProven)
            guard !isProven else { continue }
            let sent = try #require(await calls.fetcher.bodies.last)
            let isGuess = ["SOFTWARE_TOKEN_MFA", "SMS_MFA", "EMAIL_OTP"].contains(challenge)
            let code = try #require(sent["ChallengeResponses"]?["CODE"]?.stringValue)
            #expect(isGuess ? code.count == 6 && Int(code) != nil && code != "123456" : code == "123456")
            #expect((sent["Session"] == "1-session") == (isGuess || flow != nil))
        }
    }

    // MARK: Names

    @Test(
        "Names that are not accepted are asked for nowhere, but where one is made",
        arguments: ["ConfirmSignUp", "ResendConfirmationCode", "ForgotPassword", "ConfirmForgotPassword", "SignUp"],
        ["+15550001", "9f1c2d3e-0000-4000-8000-1234567890ab", "ada"])
    func refusedNames(operation: String, name: String) throws {
        let call = try DirectCognitoTests.translate(
            operation, ["ClientId": .string(Fixture.clientID), "Username": .string(name)])
        #expect(call.account == name)
        let sent = try #require(call.input["Username"]?.stringValue)
        #expect((sent == name) == (operation == "SignUp"))
        let secret = Secret(Fixture.clientSecret)
        let hash = secretHash(username: sent, clientID: Fixture.clientID, clientSecret: secret)
        #expect(call.input["SecretHash"] == .string(hash))
    }
}
