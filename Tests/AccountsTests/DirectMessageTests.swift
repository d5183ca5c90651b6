import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Telemetry
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

@Suite("Messages that translated calls have Cognito send")
struct DirectMessageTests {
    private typealias Steps = DirectStepTests

    struct Call: Sendable, CustomTestStringConvertible {
        var operation: String
        var body: JSONObject
        var testDescription: String { "\(operation) \(body)" }

        init(_ operation: String, _ body: JSONObject) {
            (self.operation, self.body) = (operation, body)
        }

        static func change(_ attribute: String) -> Call {
            Call(
                "UpdateUserAttributes",
                [
                    "AccessToken": .string(DirectCognitoTests.accessToken),
                    "UserAttributes": [["Name": .string(attribute), "Value": "+15550001"]],
                ])
        }

        static func begin(_ flow: String, _ more: JSONObject = [:]) -> Call {
            Call("InitiateAuth", DirectStepTests.initiate(flow, Fixture.email, more))
        }

        static func answer(_ challenge: String, _ responses: JSONObject) -> Call {
            Call("RespondToAuthChallenge", DirectStepTests.respond(challenge, session: "1-session", responses))
        }
    }

    /// A guard by which an account has five messages an hour, and all together twelve.
    private func guarding() throws -> LimitsAndAudit {
        let limits = AccountLimitsTests()
        let limit = BudgetLimits(account: RateLimit(5, per: 3600), global: RateLimit(12, per: 3600))
        return LimitsAndAudit(
            limits: limits.limits(try limits.store(), [.messages: limit]),
            audit: AuditTrail(log: nil, recent: RecentEvents(), webhook: nil), sync: nil, tally: AccountTally(),
            names: AccountNames(
                key: Secret([1]), records: try Fixture.records(), logger: CapturedLog().logger, now: { 1000 }))
    }

    private static func registration(of number: Int, _ email: String) -> JSONObject {
        [
            "ClientId": .string(Fixture.clientID), "Username": .string("bot-\(number)"), "Password": "p",
            "UserAttributes": [["Name": "email", "Value": .string(email)]],
        ]
    }

    @Test("Registrations under many names count for the address that their codes go to, and no more than once for all")
    func registrations() async throws {
        let guarding = try guarding()
        let fetcher = RecordedFetcher(Array(repeating: .success(Fixture.output(["UserSub": "u"])), count: 12))
        func register(_ number: Int, _ email: String) async throws -> JSON? {
            let body = Self.registration(of: number, email).encoded()
            let reply = await DirectCognitoTests.answer(fetcher, "SignUp", body, accountGuard: guarding)
            return try JSON.parse(reply.body)["__type"]
        }
        for number in 0..<5 { #expect(try await register(number, "ada@example.com") == nil) }
        for number in 5..<7 { #expect(try await register(number, "Ada@Example.com") == "TooManyRequestsException") }
        // Seven calls until now.
        for number in 7..<12 { #expect(try await register(number, "eve@example.com") == nil) }
        #expect(try await register(12, "new@example.com") == "TooManyRequestsException")
        #expect(await fetcher.requests.count == 10)
    }

    @Test("Of a registration one address of each kind counts, and none that it is counted by already")
    func registeredAddresses() throws {
        func addresses(_ name: String, _ attributes: [(String, JSON)]) -> [String] {
            var call = TranslatedCall(
                "SignUp",
                ["UserAttributes": .array(attributes.map { ["Name": .string($0.0), "Value": $0.1] })])
            call.account = name
            return call.registeredAddresses
        }
        #expect(addresses("bot", []) == [])
        #expect(addresses("bot", [("name", "a"), ("email", 1)]) == [])
        #expect(addresses("Ada@example.com", [("email", "ada@example.com"), ("phone_number", "+1")]) == ["+1"])
        #expect(addresses("bot", [("email", "a"), ("email", "b"), ("phone_number", "+1")]) == ["a", "+1"])
    }

    /// Sends a call six times, where an account has five messages an hour.
    ///
    /// - Returns: the type of the last response's error, and the number of calls that Cognito was asked for.
    private func sendSixTimes(_ call: Call) async throws -> (error: JSON?, fetches: Int) {
        let guarding = try guarding()
        let response = Steps.challenge("EMAIL_OTP", session: "2-session")
        let fetcher = RecordedFetcher(Array(repeating: .success(response), count: 6))
        var last: JSON?
        for _ in 0..<6 {
            let reply = await DirectCognitoTests.answer(
                fetcher, call.operation, call.body.encoded(), accountGuard: guarding)
            last = try JSON.parse(reply.body)["__type"]
        }
        return (last, await fetcher.requests.count)
    }

    @Test(
        "A call for which a code may be sent counts as a message, and beyond the limit Cognito is not asked",
        arguments: [
            Call.begin("USER_AUTH", ["PREFERRED_CHALLENGE": "EMAIL_OTP"]),
            Call.begin("USER_AUTH", ["PREFERRED_CHALLENGE": "SMS_OTP"]),
            Call.begin("CUSTOM_AUTH"),
            Call.answer("SELECT_CHALLENGE", ["ANSWER": "EMAIL_OTP"]),
            Call.answer("SELECT_CHALLENGE", ["ANSWER": "SMS_OTP"]),
            Call.answer("MFA_SETUP", ["EMAIL": "eve@example.com"]),
            Call.answer("MFA_SETUP", ["PHONE_NUMBER": "+15550001"]),
            Call.change("phone_number"),
        ])
    func counted(call: Call) async throws {
        let (error, fetches) = try await sendSixTimes(call)
        #expect(error == "TooManyRequestsException")
        #expect(fetches == 5)
    }

    @Test(
        "A call for which nothing is sent is no message",
        arguments: [
            Call.begin("USER_AUTH"), Call.begin("USER_SRP_AUTH"),
            Call.begin("USER_AUTH", ["PREFERRED_CHALLENGE": "PASSWORD", "PASSWORD": "p"]),
            Call.answer("SELECT_CHALLENGE", ["ANSWER": "WEB_AUTHN"]), Call.answer("MFA_SETUP", [:]),
            Call.change("locale"),
        ])
    func notCounted(call: Call) async throws {
        let (error, fetches) = try await sendSixTimes(call)
        #expect(error == nil)
        #expect(fetches == 6)
    }

    @Test("A change of an address by an app is a change of the user, and not counted twice")
    func event() async throws {
        let observer = RecordedCalls()
        let call = Call.change("phone_number")
        _ = await DirectCognitoTests.answer(
            RecordedFetcher(Fixture.output([:])), call.operation, call.body.encoded(), accountGuard: observer)
        #expect(observer.entries.map(\.call.operation.effect) == [.userChanged, .userChanged])
        #expect(observer.entries.map(\.call.operation.metricsName) == ["update-me", "update-me"])
    }
}
