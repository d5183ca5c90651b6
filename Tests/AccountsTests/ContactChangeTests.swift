import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Telemetry
import TestSupport
import Testing

@testable import Accounts

@Suite("Changes of e-mail address and phone number")
struct ContactChangeTests {
    private static let user: FetchResponse = FetchResponse(
        status: 200,
        body: ([
            "Username": .string(Fixture.username),
            "UserAttributes": [
                ["Name": "sub", "Value": .string(Fixture.username)], ["Name": "email", "Value": "old@example.com"],
                ["Name": "email_verified", "Value": "true"],
            ],
        ] as JSON).encoded())

    private static func request(signedIn age: Int64?, _ password: String? = nil) -> AccountRequest {
        var body: JSONObject = ["email": "new@example.com"]
        body["current_password"] = password.map(JSON.string)
        var request = Fixture.bearer(EmailAttribute.change, .object(body))
        request.identity?.claims["auth_time"] = age.map { .number(JSONNumber(Fixture.now - $0)) }
        return request
    }

    private static func settings(_ proof: ContactChangeSettings.Proof) -> CognitoSignInSettings {
        var settings = Fixture.settings()
        settings.contactChange.proof = proof
        settings.contactChange.recentSignIn = 60
        return settings
    }

    @Test(
        "A sign-in counts as recent up to its age, and only where the token says when it was",
        arguments: [(0, true), (60, true), (61, false), (-10, false), (nil, false)] as [(Int64?, Bool)])
    func recent(age: Int64?, isEnough: Bool) async throws {
        let fetcher = RecordedFetcher(
            Self.user, FetchResponse(status: 200, body: []), FetchResponse(status: 200, body: []))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(.recentSignIn))
        let answer = await accounts.answer(Self.request(signedIn: age))
        #expect(answer.status == (isEnough ? .accepted : .unauthorized))
        guard !isEnough else {
            let asked = ["GetUser", "UpdateUserAttributes", "GetUserAttributeVerificationCode"]
            #expect(await fetcher.operations == asked)
            return
        }
        #expect(answer.headers[.wwwAuthenticate] == #"Bearer error="insufficient_user_authentication", max_age="60""#)
        #expect(answer.reason?.code == "authentication-too-old")
        #expect(await fetcher.requests.isEmpty, "nobody is asked")
    }

    @Test(
        "Another request for a code does not tell whose the new address is",
        arguments: ["AliasExistsException", nil] as [String?])
    func resend(refused: String?) async throws {
        let own = Fixture.output(["CodeDeliveryDetails": ["Destination": "o***@e***", "DeliveryMedium": "EMAIL"]])
        let sent = Fixture.output(["CodeDeliveryDetailsList": [["AttributeName": "email"]]])
        let fetcher = RecordedFetcher(Self.user, refused.map { Fixture.failure($0) } ?? sent)
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(.none))
        let resending = Fixture.bearer(EmailAttribute.resend)
        #expect(await accounts.answer(Self.request(signedIn: nil)).status == .accepted)
        await fetcher.append([refused == nil ? own : Self.user])
        let answer = await accounts.answer(resending)
        #expect(answer.status == .accepted)
        #expect(answer.json == ["delivery": ["destination": "n***@e***", "medium": "EMAIL"]])
        // To the old address no code goes.
        #expect(await fetcher.operations.last == (refused == nil ? "GetUserAttributeVerificationCode" : "GetUser"))
        // A refused token is one for both.
        await fetcher.append([Fixture.failure("NotAuthorizedException", "Access Token has been revoked")])
        #expect(await accounts.answer(resending).status == .unauthorized)
        // It is about the newest change, and about none once that is made.
        await fetcher.append([Self.user, sent, Fixture.output([:]), Self.user, own])
        #expect(await accounts.answer(Self.request(signedIn: nil)).status == .accepted)
        #expect(await accounts.answer(Fixture.bearer(EmailAttribute.verify, ["code": "123456"])).status == .ok)
        #expect(await accounts.answer(resending).json["delivery"]?["destination"] == "o***@e***")
    }

    @Test(
        "A change that Cognito has made counts as made, also where the user cannot be read after it",
        arguments: [
            (EmailAttribute.verify, ["code": "123456"], ["VerifyUserAttribute", "GetUser"], true),
            (.updateMe, ["name": "Ada"], ["UpdateUserAttributes", "GetUser"], true),
            (.updateMe, [:], ["GetUser"], false),
            (.setSecondFactors, ["enabled": ["EMAIL_OTP"]], ["GetUser", "SetUserMFAPreference", "GetUser"], true),
            (.setSecondFactors, [:], ["GetUser", "GetUser"], false),
        ] as [(AccountOperation, JSON, [String], Bool)])
    func unreadable(operation: AccountOperation, body: JSON, asked: [String], isMade: Bool) async throws {
        let (observer, fetcher) = (RecordedCalls(), RecordedFetcher())
        await fetcher.append(Array(repeating: Self.user, count: asked.count - 1))
        await fetcher.append([Fixture.failure("TooManyRequestsException")])
        let answer = try await Fixture.accounts(fetcher, accountGuard: observer).answer(Fixture.bearer(operation, body))
        #expect(answer.status == .tooManyRequests)
        #expect(await fetcher.operations == asked)
        switch try #require(observer.entries.last?.outcome) {
        case .succeeded: #expect(isMade && observer.entries.last?.call.subject == Fixture.username)
        default: #expect(!isMade)
        }
    }

    /// The users whose attributes may have changed, as the guard reports them.
    actor ChangedUsers {
        private(set) var subjects: [String] = []
        func add(_ subject: String) { subjects.append(subject) }

        nonisolated func accountGuard() throws -> LimitsAndAudit {
            let one = AccountLimitsTests()
            return LimitsAndAudit(
                limits: one.limits(try one.store()),
                audit: AuditTrail(log: nil, recent: RecentEvents(), webhook: nil),
                sync: nil, tally: AccountTally(),
                names: AccountNames(
                    key: Secret([1]), records: try Fixture.records(), logger: CapturedLog().logger, now: { 1000 }),
                attributesChanged: { await self.add($0) })
        }
    }

    @Test(
        "A change that fails at Cognito may be made in part, so that the user's attributes are read anew",
        arguments: [
            // The code could not be sent.
            (
                "new@example.com",
                [.success(Fixture.output([:])), .success(Fixture.failure("LimitExceededException"))], true
            ),
            // The response is lost.
            ("new@example.com", [.failure(.timedOut)], true),
            // Cognito is not asked for a change.
            ("old@example.com", [], false),
        ] as [(String, [Result<FetchResponse, FetchError>], Bool)])
    func partlyMade(email: String, answers: [Result<FetchResponse, FetchError>], mayBeMade: Bool) async throws {
        let changed = ChangedUsers()
        let fetcher = RecordedFetcher([.success(Self.user)] + answers)
        let accounts = try Fixture.accounts(
            fetcher, settings: Self.settings(.none), accountGuard: changed.accountGuard())
        let answer = await accounts.answer(Fixture.bearer(EmailAttribute.change, ["email": .string(email)]))
        #expect(answer.status.code >= 400)
        #expect(await fetcher.requests.count == 1 + answers.count)
        #expect(await changed.subjects == (mayBeMade ? [Fixture.username] : []))
    }

    @Test("Without any proof in the settings the token is enough")
    func unproven() async throws {
        let fetcher = RecordedFetcher(
            Self.user, FetchResponse(status: 200, body: []), FetchResponse(status: 200, body: []))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(.none))
        #expect(await accounts.answer(Self.request(signedIn: nil)).status == .accepted)
    }

    @Test("A challenge after the password proves it; the user is not asked any further")
    func challenged() async throws {
        let challenge: JSON = ["ChallengeName": "SMS_MFA", "Session": "s", "ChallengeParameters": [:]]
        let fetcher = RecordedFetcher(
            FetchResponse(status: 200, body: challenge.encoded()), Self.user, FetchResponse(status: 200, body: []),
            FetchResponse(status: 200, body: []))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(.password))
        let answer = await accounts.answer(Self.request(signedIn: nil, Fixture.password))
        #expect(answer.status == .accepted)
        #expect(await fetcher.operations.first == "InitiateAuth")
    }

    @Test("A question that comes before the password proves nothing", arguments: ["CUSTOM_CHALLENGE", "PASSWORD"])
    func unknownChallenge(name: String) async throws {
        let challenge: JSON = ["ChallengeName": .string(name), "Session": "s", "ChallengeParameters": [:]]
        let fetcher = RecordedFetcher(FetchResponse(status: 200, body: challenge.encoded()))
        let accounts = try Fixture.accounts(fetcher, settings: Self.settings(.password))
        let answer = await accounts.answer(Self.request(signedIn: nil, Fixture.password))
        #expect(answer.status == .serviceUnavailable)
        #expect(await fetcher.operations == ["InitiateAuth"])
    }

    @Test(
        "International numbers",
        arguments: [
            ("+4915112345678", true), ("+15551234567", true), ("+123456789012345", true), ("+1234567", true),
            ("+123456", false), ("+1234567890123456", false), ("+0151234567", false), ("4915112345678", false),
            ("+49 151 1234", false), ("+49151١٢٣٤٥٦", false), ("+", false), ("", false),
        ])
    func numbers(text: String, isWellFormed: Bool) {
        #expect(PhoneNumber.isWellFormed(text) == isWellFormed)
    }

    @Test("Only what changes is told to Cognito")
    func changes() {
        let known = SecondFactors(enabled: [.sms, .email], preferred: .sms)
        #expect(known.changes(to: known) == [:])
        #expect(
            known.changes(to: SecondFactors(enabled: [.sms, .email], preferred: .email)) == [
                "SMSMfaSettings": ["Enabled": true, "PreferredMfa": false],
                "EmailMfaSettings": ["Enabled": true, "PreferredMfa": true],
            ])
        #expect(
            known.changes(to: SecondFactors(enabled: [.email], preferred: nil)) == [
                "SMSMfaSettings": ["Enabled": false, "PreferredMfa": false]
            ])
    }
}
