import Cognito
import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Sealing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts

@Suite("Account calls and Cognito")
struct AccountCallTests {
    /// A well-formed request of each kind that sends a body, and the texts in it.
    static func body(_ operation: AccountOperation) -> JSONObject {
        let email = JSON.string(Fixture.email)
        switch operation {
        case .login: return ["email": email, "password": .string(Fixture.password)]
        case .register: return ["email": email, "password": .string(Fixture.password), "name": "Ada"]
        case .confirm: return ["email": email, "code": "123456"]
        case .resendCode, .forgotPassword: return ["email": email]
        case .resetPassword: return ["email": email, "code": "123456", "new_password": "new horse"]
        case .changePassword: return ["current_password": .string(Fixture.password), "new_password": "new horse"]
        case .challenge: return ["challenge": "SMS_MFA", "session": "v2.k.session", "code": "123456"]
        case .refresh: return ["refresh_token": "v2.k.token"]
        case .updateMe: return ["name": "Ada", "attributes": ["locale": "de"]]
        case .verifyTOTP: return ["code": "123456"]
        case .logout: return ["refresh_token": "v2.k.token", "all_devices": false]
        default: return [:]
        }
    }

    static let withBody = CognitoAccounts.operations.filter { !body($0).isEmpty }

    // MARK: Calls to Cognito

    @Test(
        "Each call becomes the operations it should, with hash or secret as each wants it",
        arguments: [
            (.register, ["SignUp"], #""SecretHash""#), (.confirm, ["ConfirmSignUp"], #""SecretHash""#),
            (.resendCode, ["ResendConfirmationCode"], #""SecretHash""#),
            (.forgotPassword, ["ForgotPassword"], #""SecretHash""#),
            (.resetPassword, ["ConfirmForgotPassword"], #""SecretHash""#),
            (.changePassword, ["ChangePassword"], #""AccessToken""#),
            (.updateMe, ["UpdateUserAttributes", "GetUser"], #""AccessToken""#),
            (.deleteMe, ["DeleteUser"], #""AccessToken""#),
            (.removeTOTP, ["SetUserMFAPreference"], #""AccessToken""#),
        ] as [(AccountOperation, [String], String)])
    func operations(operation: AccountOperation, expected: [String], proof: String) async throws {
        let fetcher = RecordedFetcher(expected.map { _ in .success(Fixture.output(["UserSub": "u"])) })
        _ = try await Fixture.accounts(fetcher).answer(request(operation))
        #expect(await fetcher.operations == expected)
        let sent = await fetcher.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
        #expect(sent.allSatisfy { $0.contains(proof) })
        #expect(sent.allSatisfy { !$0.contains(Fixture.clientSecret) })
        if proof.contains("Hash") { #expect(sent[0].contains(Fixture.emailHash)) }
    }

    @Test("Signing out with a bearer token and nothing known of it puts its sign-in on the list")
    func logout() async throws {
        let revocations = RecordedRevocations()
        let fetcher = RecordedFetcher()
        let answer = try await Fixture.accounts(fetcher, revocations: revocations).answer(Fixture.bearer(.logout))
        #expect(answer.status == .noContent)
        #expect(answer.body.isEmpty)
        #expect(revocations.targets == [.originID("origin-1")])
        #expect(await fetcher.requests.isEmpty, "without a refresh token there is none to revoke")
    }

    @Test("Signing out everywhere spares who signs in in the same second, and names what is known one by one")
    func logoutEverywhere() async throws {
        let revocations = RecordedRevocations()
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let answer = try await Fixture.accounts(fetcher, revocations: revocations)
            .answer(Fixture.bearer(.logout, ["all_devices": true]))
        #expect(answer.status == .noContent)
        #expect(await fetcher.operations == ["GlobalSignOut"])
        #expect(
            revocations.targets == [.subject(Fixture.username, before: Fixture.now - 1), .originID("origin-1")])
    }

    @Test("While Cognito has not been told, the caller's own token is good for another try; the others have ended")
    func logoutEverywhereFails() async throws {
        let records = try Fixture.records()
        var other = Fixture.sealed
        (other.family, other.originID) = ([UInt8](repeating: 3, count: 16), "origin-3")
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        try await sessions.begin(other, Fixture.sealedText(other), on: nil)
        let revocations = RecordedRevocations()
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.failure("InternalErrorException"), Fixture.output([:])), records: records,
            revocations: revocations)
        let request = Fixture.bearer(.logout, ["all_devices": true])
        #expect(await accounts.answer(request).status == .serviceUnavailable)
        #expect(revocations.targets == [.originID("origin-3")])
        #expect(await accounts.answer(request).status == .noContent)
        #expect(revocations.targets.last == .originID("origin-1"))
    }

    @Test("A refresh token that Cognito has forgotten is signed out of all the same; a Cognito that is away is not")
    func logoutFailures() async throws {
        for (failure, status) in [
            (Fixture.failure("NotAuthorizedException", "Refresh Token has been revoked"), 204),
            (Fixture.failure("UnsupportedTokenTypeException"), 204),
            (Fixture.failure("UnsupportedOperationException"), 204),
            (Fixture.failure("InternalErrorException"), 503), (Fixture.failure("TooManyRequestsException"), 429),
        ] {
            let revocations = RecordedRevocations()
            let answer = try await Fixture.accounts(RecordedFetcher(failure), revocations: revocations).answer(
                Fixture.request(.logout, ["refresh_token": .string(Fixture.sealedText().exposeText())]))
            #expect(answer.status.code == status)
            #expect(revocations.targets == [.originID("origin-1")], "here it has ended in any case")
        }
    }

    @Test("Who has nothing to be signed out of is signed out; who shows nothing at all is not asked for")
    func logoutWithoutTokens() async throws {
        let accounts = try Fixture.accounts(RecordedFetcher())
        var ended = Fixture.request(.logout)
        ended.endedToken = .revoked(Fixture.identity())
        #expect(await accounts.answer(ended).status == .noContent)
        #expect(await accounts.answer(Fixture.request(.logout, ["refresh_token": "garbage"])).status == .noContent)
        #expect(await accounts.answer(Fixture.request(.logout)).status == .unauthorized)
    }

    @Test("An expired access token ends nothing, and isn't told that it has", arguments: [false, true])
    func logoutWithExpiredToken(allDevices: Bool) async throws {
        let revocations = RecordedRevocations()
        let accounts = try Fixture.accounts(RecordedFetcher(Fixture.output([:])), revocations: revocations)
        var request = Fixture.request(.logout, ["all_devices": .bool(allDevices)])
        request.endedToken = .expired
        let refused = await accounts.answer(request)
        #expect(refused.status == .unauthorized && refused.reason == .token(.expired))
        #expect(refused.json["error"] == "TokenExpiredException")
        #expect(revocations.targets.isEmpty)
        // The refresh token says which session is meant.
        request = Fixture.request(.logout, ["refresh_token": .string(try Fixture.sealedText().exposeText())])
        request.endedToken = .expired
        #expect(await accounts.answer(request).status == .noContent)
        #expect(revocations.targets == [.originID("origin-1")])
    }

    @Test(
        "A revoked access token still ends its own session, at Cognito too, and the call is known as its user's",
        arguments: [[:], ["refresh_token": "garbage"]] as [JSONObject])
    func logoutWithRevokedToken(body: JSONObject) async throws {
        let (fetcher, revocations) = (RecordedFetcher(Fixture.output([:])), RecordedRevocations())
        let observer = RecordedCalls()
        let accounts = try Fixture.accounts(fetcher, accountGuard: observer, revocations: revocations)
        try await accounts.sessions.begin(Fixture.sealed, Fixture.sealedText(), on: nil)
        for _ in 0..<2 {
            var request = Fixture.request(.logout, .object(body))
            request.endedToken = .revoked(Fixture.identity())
            #expect(await accounts.answer(request).status == .noContent)
            #expect(observer.entries.last?.call.subject?.hasSameBytes(as: Fixture.username) == true)
            #expect(try await accounts.sessions.openSessions(of: Fixture.username).isEmpty)
        }
        #expect(await fetcher.operations == ["RevokeToken"])
        #expect(revocations.targets.contains(.originID("origin-1")))
    }

    @Test("A revoked access token signs out everywhere only who has no session any more")
    func logoutEverywhereWithRevokedToken() async throws {
        let accounts = try Fixture.accounts(RecordedFetcher(Fixture.output([:])))
        try await accounts.sessions.begin(Fixture.sealed, Fixture.sealedText(), on: nil)
        var request = Fixture.request(.logout, ["all_devices": true])
        request.endedToken = .revoked(Fixture.identity())
        let refused = await accounts.answer(request)
        #expect(refused.status == .unauthorized && refused.reason == .token(.revoked))
        _ = try await accounts.sessions.endAll(of: Fixture.username)
        #expect(await accounts.answer(request).status == .noContent)
        request.endedToken = .revoked(Fixture.identity(tokenUse: .id))
        #expect(await accounts.answer(request).reason == .account(.notAnAccessToken))
    }

    @Test(
        "Signing out again with a revoked access token is 503 until the revocation is stored", arguments: [false, true])
    func logoutNotStored(allDevices: Bool) async throws {
        for (hasUnstored, status) in [(true, 503), (false, 204)] {
            let accounts = try Fixture.accounts(RecordedFetcher(), hasUnstored: { hasUnstored })
            var request = Fixture.request(.logout, ["all_devices": .bool(allDevices)])
            request.endedToken = .revoked(Fixture.identity())
            let answer = await accounts.answer(request)
            #expect(answer.status.code == status)
            #expect(answer.reason?.code == (hasUnstored ? "not-revoked" : nil))
        }
    }

    @Test("So it is with a refresh token beside it, sealed or Cognito's own", arguments: [true, false])
    func logoutNotStored(withSealed: Bool) async throws {
        let records = try Fixture.records()
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        try await sessions.begin(Fixture.sealed, Fixture.sealedText(), on: nil)
        _ = try await sessions.endAll(of: Fixture.username)
        for (hasUnstored, status) in [(true, 503), (false, 204)] {
            let foreign = Fixture.failure("NotAuthorizedException", "Invalid Refresh Token")
            let accounts = try Fixture.accounts(
                RepeatingFetcher([.success(foreign)]), settings: TakeoverTests.settings(), records: records,
                hasUnstored: { hasUnstored })
            let token = withSealed ? try Fixture.sealedText() : Secret(TakeoverTests.raw)
            var request = Fixture.request(
                .logout, ["refresh_token": .string(token.exposeText()), "all_devices": .bool(withSealed)])
            request.endedToken = .revoked(Fixture.identity())
            let answer = await accounts.answer(request)
            #expect(answer.status.code == status)
            #expect(answer.reason?.code == (hasUnstored ? "not-revoked" : nil))
        }
    }

    @Test(
        "A session of the pool's other app client that the user ends, ends at Cognito by that client's secret",
        arguments: [(.endOtherSessions, "origin-2"), (.logout, "origin-1")] as [(AccountOperation, String)])
    func sessionOfSibling(operation: AccountOperation, originID: String) async throws {
        let ring = SealingKeyRing(sealing: try SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        let app = AppClient(poolID: Fixture.poolID, clientID: "other-client", clientSecret: Secret("other-secret"))
        let sibling = SiblingClients.Client(app: app, sealingKeys: ring)
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let accounts = try Fixture.accounts(fetcher, siblings: SiblingClients([sibling]))
        var sealed = Fixture.sealed
        (sealed.clientID, sealed.originID) = ("other-client", originID)
        let text = try sealed.sealed(with: ring, poolID: Fixture.poolID)
        try await accounts.sessions.begin(sealed, text, on: nil)
        #expect(await accounts.answer(Fixture.bearer(operation)).status == .noContent)
        let expected: JSON = [
            "ClientId": "other-client", "Token": "provider-refresh-token", "ClientSecret": "other-secret",
        ]
        #expect(await fetcher.bodies == [expected])
    }

    private static let others = Revocation.Target.otherSignIns(
        Fixture.username, before: Fixture.now, sparing: "origin-1")

    @Test("A deleted user's tokens never count again; the caller's own ends last")
    func deletion() async throws {
        let revocations = RecordedRevocations()
        let answer = try await Fixture.accounts(RecordedFetcher(Fixture.output([:])), revocations: revocations)
            .answer(Fixture.bearer(.deleteMe))
        #expect(answer.status == .noContent)
        #expect(revocations.targets == [Self.others, .subject(Fixture.username, before: .max)])
    }

    @Test("A user who is gone at Cognito already is deleted here; one whose token is refused is not")
    func deletionAgain() async throws {
        let records = try Fixture.records()
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        try await sessions.begin(Fixture.sealed, Fixture.sealedText(), on: nil)
        let (revocations, observer) = (RecordedRevocations(), RecordedCalls())
        func delete(_ failure: FetchResponse) async throws -> AccountAnswer {
            try await Fixture.accounts(
                RecordedFetcher(failure), records: records, accountGuard: observer, revocations: revocations
            ).answer(Fixture.bearer(.deleteMe))
        }
        let refused = try await delete(Fixture.failure("NotAuthorizedException", "Access Token has been revoked"))
        #expect(refused.status == .unauthorized && revocations.targets.isEmpty)
        #expect(try await sessions.openSessions(of: Fixture.username).count == 1)
        #expect(try await delete(Fixture.failure("UserNotFoundException")).status == .noContent)
        #expect(revocations.targets == [Self.others, .subject(Fixture.username, before: .max)])
        #expect(try await sessions.openSessions(of: Fixture.username).isEmpty)
        guard case .succeeded = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("The access token is good for another try until others know of the deletion")
    func deletionNotTold() async throws {
        let revocations = RecordedRevocations()
        let observer = RecordedCalls(end: .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)))
        let answer = try await Fixture.accounts(
            RecordedFetcher(Fixture.output([:])), accountGuard: observer, revocations: revocations
        ).answer(Fixture.bearer(.deleteMe))
        #expect(answer.status == .serviceUnavailable && revocations.targets == [Self.others])
    }

    private static func change(to new: String) -> AccountRequest {
        Fixture.bearer(.changePassword, ["current_password": "old", "new_password": .string(new)])
    }

    @Test("A change of the password whose answer was lost is looked into when the same one comes again, once")
    func unansweredChange() async throws {
        let wrong = Fixture.failure("NotAuthorizedException", "Incorrect username or password.")
        let fetcher = RecordedFetcher(
            Fixture.failure("InternalErrorException"), wrong, wrong, Fixture.output([:]), wrong)
        let accounts = try Fixture.accounts(fetcher)
        #expect(await accounts.answer(Self.change(to: "new")).status == .serviceUnavailable)
        #expect(await accounts.answer(Self.change(to: "other")).status == .unprocessableContent, "another call")
        let after = try Fixture.accounts(fetcher, after: accounts)
        #expect(await after.answer(Self.change(to: "new")).status == .noContent, "also after a reload")
        let asked = await fetcher.bodies.map { [$0["PreviousPassword"], $0["ProposedPassword"]] }
        #expect(asked.last == ["new", "new"])
        #expect(await after.answer(Self.change(to: "new")).status == .unprocessableContent)
    }

    @Test("While Cognito cannot be had, a lost answer is not forgotten")
    func unansweredTwice() async throws {
        let lost = Fixture.failure("InternalErrorException")
        let wrong = Fixture.failure("NotAuthorizedException", "Incorrect username or password.")
        let accounts = try Fixture.accounts(
            RecordedFetcher(lost, lost, wrong, lost, wrong, Fixture.output([:]), lost, wrong, wrong))
        for status in [503, 503, 503, 204] {
            #expect(await accounts.answer(Self.change(to: "new")).status.code == status)
        }
        for status in [503, 422] {
            #expect(await accounts.answer(Self.change(to: "newer")).status.code == status, "it was not made")
        }
    }

    @Test("A lost answer is looked into until it is known whether the change was made")
    func unansweredUntilKnown() async throws {
        let lost = Fixture.failure("InternalErrorException")
        let wrong = Fixture.failure("NotAuthorizedException", "Incorrect username or password.")
        let busy = Fixture.failure("TooManyRequestsException")
        let earlier = Fixture.failure("PasswordHistoryPolicyViolationException")
        let done = Fixture.output([:])
        let cases: [(answers: [FetchResponse], statuses: [Int])] = [
            ([lost, busy, wrong, done], [503, 429, 204]), ([lost, wrong, busy, wrong, done], [503, 429, 204]),
            ([lost, wrong, earlier, wrong], [503, 204, 422]), ([lost, wrong, wrong, wrong], [503, 422, 422]),
            ([lost, done, wrong], [503, 204, 422]),
        ]
        for (number, test) in cases.enumerated() {
            let fetcher = RecordedFetcher(test.answers.map { .success($0) })
            let accounts = try Fixture.accounts(fetcher)
            for status in test.statuses {
                #expect(await accounts.answer(Self.change(to: "new")).status.code == status, "case \(number)")
            }
            #expect(await fetcher.requests.count == test.answers.count, "case \(number)")
        }
    }

    @Test("Of refresh tokens only the newest one of a session that goes on signs out everywhere")
    func oldRefreshTokens() async throws {
        let records = try Fixture.records()
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        var other = Fixture.sealed
        (other.family, other.originID) = ([UInt8](repeating: 3, count: 16), "origin-3")
        for sealed in [Fixture.sealed, other] {
            try await sessions.begin(sealed, Fixture.sealedText(sealed), on: nil)
        }
        let revocations = RecordedRevocations()
        func signOut(_ sealed: SealedRefreshToken, _ fetcher: RecordedFetcher, at time: Int64) async throws
            -> AccountAnswer
        {
            let token = try Fixture.sealedText(sealed).exposeText()
            return try await Fixture.accounts(fetcher, now: time, records: records, revocations: revocations).answer(
                Fixture.request(.logout, ["refresh_token": .string(token), "all_devices": true]))
        }
        let nobody = RecordedFetcher()
        let expired = try await signOut(Fixture.sealed, nobody, at: Fixture.now + 1000)
        #expect(expired.status == .unauthorized && expired.reason?.code == "expired-refresh-token")
        var foreign = Fixture.sealed
        foreign.clientID = "another-client"
        #expect(try await signOut(foreign, nobody, at: Fixture.now).reason?.code == "invalid-refresh-token")
        _ = try await sessions.end(family: other.family, originIDs: [])
        #expect(try await signOut(other, nobody, at: Fixture.now).reason?.code == "session-ended")
        #expect(await nobody.requests.isEmpty)
        #expect(revocations.targets.isEmpty)
        #expect(try await records.session(Fixture.sealed.family)?.endedAt == nil)
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: nil), Fixture.output([:]))
        #expect(try await signOut(Fixture.sealed, fetcher, at: Fixture.now).status == .noContent)
        #expect(await fetcher.operations == ["GetTokensFromRefreshToken", "GlobalSignOut"])
        #expect(
            revocations.targets == [.subject(Fixture.username, before: Fixture.now - 1), .originID("origin-1")])
        #expect(try await signOut(other, RecordedFetcher(), at: Fixture.now).status == .noContent, "all are")
    }

    @Test("A refresh token signs out everywhere until everything is done")
    func everywhereAgain() async throws {
        let (records, revocations) = (try Fixture.records(), RecordedRevocations())
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { Fixture.now })
        try await sessions.begin(Fixture.sealed, Fixture.sealedText(), on: nil)
        let text = try Fixture.sealedText().exposeText()
        let request = Fixture.request(.logout, ["refresh_token": .string(text), "all_devices": true])
        let fetcher = RecordedFetcher(
            Fixture.tokens(refreshToken: nil), Fixture.output([:]),
            Fixture.failure("NotAuthorizedException", "Refresh Token has been revoked"))
        let accounts = try Fixture.accounts(fetcher, records: records, revocations: revocations)
        revocations.isFull.withLock { $0 = true }
        #expect(await accounts.answer(request).reason?.code == "not-revoked")
        revocations.isFull.withLock { $0 = false }
        #expect(await accounts.answer(request).status == .noContent)
        #expect(revocations.targets.first == .subject(Fixture.username, before: Fixture.now - 1))
        #expect(try await records.session(Fixture.sealed.family)?.endedAt == Fixture.now)
    }

    @Test("A session without a record is signed out of everywhere only by a token that Cognito takes")
    func unknownSession() async throws {
        let text = try Fixture.sealedText().exposeText()
        let request = Fixture.request(.logout, ["refresh_token": .string(text), "all_devices": true])
        let revocations = RecordedRevocations()
        let refused = RecordedFetcher(Fixture.failure("NotAuthorizedException", "Refresh Token has been revoked"))
        #expect(try await Fixture.accounts(refused, revocations: revocations).answer(request).status == .unauthorized)
        #expect(revocations.targets.isEmpty)
        let taken = RecordedFetcher(Fixture.tokens(refreshToken: nil), Fixture.output([:]))
        #expect(try await Fixture.accounts(taken, revocations: revocations).answer(request).status == .noContent)
        #expect(await taken.operations == ["GetTokensFromRefreshToken", "GlobalSignOut"])
    }

    @Test("An export has the devices where the pool tracks any")
    func export() async throws {
        let user: JSON = [
            "Username": .string(Fixture.username),
            "UserAttributes": [["Name": "sub", "Value": .string(Fixture.username)]],
        ]
        let fetcher = RecordedFetcher(Fixture.output(user), Fixture.failure("InvalidParameterException", "no devices"))
        let answer = try await Fixture.accounts(fetcher, accountGuard: RecordedCalls()).answer(Fixture.bearer(.export))
        #expect(answer.status == .ok)
        #expect(answer.json["devices"] == [])
    }

    @Test("An export has the devices of all pages, or is none")
    func exportOfPages() async throws {
        let user = Fixture.output([
            "Username": .string(Fixture.username),
            "UserAttributes": [["Name": "sub", "Value": .string(Fixture.username)]],
        ])
        let first = Fixture.output(["Devices": [["DeviceKey": "d-1"], ["DeviceKey": "d-2"]], "PaginationToken": "p-2"])
        let last = Fixture.output(["Devices": [["DeviceKey": "d-3"]]])
        let fetcher = RecordedFetcher(user, first, last)
        let answer = try await Fixture.accounts(fetcher).answer(Fixture.bearer(.export))
        let keys = answer.json["devices"]?.arrayValue?.map { $0["DeviceKey"]?.stringValue }
        #expect(answer.status == .ok && keys == ["d-1", "d-2", "d-3"])
        let bodies = await fetcher.bodies
        #expect(bodies.map { $0["Limit"] } == [nil, 60, 60])
        #expect(bodies.map { $0["PaginationToken"] } == [nil, nil, "p-2"])
        // An error that means "none" on the first page does not on the second; and pages do not go on for ever.
        for failing in [[user, first, Fixture.failure("InvalidUserPoolConfigurationException")], [user, first]] {
            let fetcher = RepeatingFetcher(failing.map { .success($0) })
            let refused = try await Fixture.accounts(fetcher).answer(Fixture.bearer(.export))
            #expect(refused.status == .serviceUnavailable)
        }
    }

    @Test("Who registers hears where the code went; who is confirmed by the pool or gets no code, that there is none")
    func delivery() async throws {
        let details: JSON = ["Destination": "+*******1234", "DeliveryMedium": "SMS", "AttributeName": "phone_number"]
        let cases: [(JSON, JSON)] = [
            (
                ["UserSub": "u", "UserConfirmed": false, "CodeDeliveryDetails": details],
                ["destination": "+*******1234", "medium": "SMS"]
            ),
            (["UserSub": "u", "UserConfirmed": false], nil),
            (["UserSub": "u", "UserConfirmed": true], nil),
        ]
        for (output, expected) in cases {
            let answer = try await Fixture.accounts(RecordedFetcher(Fixture.output(output))).answer(request(.register))
            #expect(answer.status == .created)
            #expect(answer.json["delivery"] == expected)
            #expect(answer.json["confirmed"] == output["UserConfirmed"])
            #expect(answer.subject == "u")
        }
    }

    @Test(
        "Whoever asks for a code hears of the name that was typed, and not where Cognito sent it",
        arguments: [.forgotPassword, .resendCode] as [AccountOperation], [false, true])
    func destination(operation: AccountOperation, conceals: Bool) async throws {
        let details: JSON = ["Destination": "+*******1234", "DeliveryMedium": "SMS", "AttributeName": "phone_number"]
        for output in [["CodeDeliveryDetails": details], [:]] as [JSON] {
            var settings = Fixture.settings()
            settings.concealsExistingUsers = conceals
            let accounts = try Fixture.accounts(RecordedFetcher(Fixture.output(output)), settings: settings)
            let answer = await accounts.answer(request(operation))
            #expect(answer.json == ["delivery": ["destination": "a***@e***", "medium": "EMAIL"]])
        }
    }

    // MARK: Errors

    @Test(
        "Each failure of Cognito's has its own answer",
        arguments: [
            (.register, "UsernameExistsException", "", 409, "UsernameExistsException"),
            (.register, "InvalidPasswordException", "", 422, "InvalidPasswordException"),
            (.register, "InvalidParameterException", "Value at 'password' failed", 422, "InvalidPasswordException"),
            (.register, "InvalidParameterException", "Attribute: bad", 422, "InvalidParameterException"),
            (.register, "UserLambdaValidationException", "", 403, "UserLambdaValidationException"),
            (.register, "CodeDeliveryFailureException", "", 503, "IdentityProviderUnavailableException"),
            (.register, "LimitExceededException", "", 429, "TooManyRequestsException"),
            (.register, "NotAuthorizedException", "SecretHash wrong", 503, "IdentityProviderUnavailableException"),
            (.confirm, "CodeMismatchException", "", 422, "CodeMismatchException"),
            (.confirm, "ExpiredCodeException", "", 422, "CodeMismatchException"),
            (.confirm, "UserNotFoundException", "", 422, "CodeMismatchException"),
            (.confirm, "AliasExistsException", "", 409, "UsernameExistsException"),
            (.confirm, "NotAuthorizedException", "User cannot be confirmed.", 422, "CodeMismatchException"),
            (.confirm, "TooManyFailedAttemptsException", "", 422, "CodeMismatchException"),
            (.confirm, "LimitExceededException", "", 422, "CodeMismatchException"),
            (.confirm, "TooManyRequestsException", "", 429, "TooManyRequestsException"),
            (.confirm, "UserLambdaValidationException", "", 403, "UserLambdaValidationException"),
            (.resendCode, "UserNotFoundException", "", 202, nil),
            (.resendCode, "InvalidParameterException", "User is already confirmed.", 202, nil),
            (.resendCode, "LimitExceededException", "", 202, nil),
            (.resendCode, "CodeDeliveryFailureException", "", 202, nil),
            (.resendCode, "UserLambdaValidationException", "", 403, "UserLambdaValidationException"),
            (.resendCode, "TooManyRequestsException", "", 429, "TooManyRequestsException"),
            (.resendCode, "InvalidEmailRoleAccessPolicyException", "", 202, nil),
            (.forgotPassword, "InvalidSmsRoleAccessPolicyException", "", 202, nil),
            (.forgotPassword, "UnexpectedLambdaException", "CustomMessage invocation failed.", 202, nil),
            (
                .forgotPassword, "UnexpectedLambdaException", "PreSignUp invocation failed.", 503,
                "IdentityProviderUnavailableException"
            ),
            (.forgotPassword, "UserNotFoundException", "", 202, nil),
            (.forgotPassword, "InvalidParameterException", "no verified email", 202, nil),
            (.forgotPassword, "NotAuthorizedException", "User is disabled.", 202, nil),
            (.forgotPassword, "ResourceNotFoundException", "", 503, "IdentityProviderUnavailableException"),
            (.forgotPassword, "NotAuthorizedException", "secret hash", 503, "IdentityProviderUnavailableException"),
            (.resetPassword, "UserNotFoundException", "", 422, "CodeMismatchException"),
            (.resetPassword, "CodeMismatchException", "", 422, "CodeMismatchException"),
            (.resetPassword, "ExpiredCodeException", "", 422, "CodeMismatchException"),
            (.resetPassword, "NotAuthorizedException", "User is disabled.", 422, "CodeMismatchException"),
            (.resetPassword, "LimitExceededException", "", 422, "CodeMismatchException"),
            (.resetPassword, "InvalidPasswordException", "", 422, "InvalidPasswordException"),
            (.resetPassword, "PasswordHistoryPolicyViolationException", "", 422, "InvalidPasswordException"),
            (
                .changePassword, "NotAuthorizedException", "Incorrect username or password.", 422,
                "InvalidParameterException"
            ),
            (
                .changePassword, "InvalidParameterException", "Value at 'previousPassword' failed", 422,
                "InvalidParameterException"
            ),
            (
                .changePassword, "InvalidParameterException", "Value at 'proposedPassword'", 422,
                "InvalidPasswordException"
            ),
            (
                .updateMe, "NotAuthorizedException", "Access Token does not have required scopes", 403,
                "AccessDeniedException"
            ),
            (.verifyTOTP, "NotAuthorizedException", "Something else", 403, "AccessDeniedException"),
            (.changePassword, "NotAuthorizedException", "Access Token has been revoked", 401, "NotAuthorizedException"),
            (.changePassword, "InvalidPasswordException", "", 422, "InvalidPasswordException"),
            (.changePassword, "LimitExceededException", "", 429, "TooManyRequestsException"),
            (.updateMe, "InvalidParameterException", "no such attribute", 422, "InvalidParameterException"),
            (.updateMe, "NotAuthorizedException", "Access Token has expired", 401, "TokenExpiredException"),
            (.deleteMe, "NotAuthorizedException", "Access Token has been revoked", 401, "NotAuthorizedException"),
            (.deleteMe, "InternalErrorException", "", 503, "IdentityProviderUnavailableException"),
            (.verifyTOTP, "EnableSoftwareTokenMFAException", "", 422, "CodeMismatchException"),
            (.verifyTOTP, "CodeMismatchException", "", 422, "CodeMismatchException"),
            (.verifyTOTP, "SoftwareTokenMFANotFoundException", "", 422, "CodeMismatchException"),
            (.removeTOTP, "UserNotFoundException", "", 401, "NotAuthorizedException"),
            (.setUpTOTP, "NotAuthorizedException", "Access Token has been revoked", 401, "NotAuthorizedException"),
            (.export, "TooManyRequestsException", "", 429, "TooManyRequestsException"),
        ] as [(AccountOperation, String, String, Int, String?)])
    func failures(operation: AccountOperation, type: String, message: String, status: Int, error: String?) async throws
    {
        let log = CapturedLog()
        let fetcher = RepeatingFetcher([.success(Fixture.failure(type, message))])
        let answer = try await Fixture.accounts(fetcher, log: log).answer(request(operation))
        #expect(answer.status.code == status)
        #expect(answer.json["error"]?.stringValue == error)
        if !message.isEmpty { #expect(!answer.text.contains(message), "Cognito's words stay inside") }
        let challenge = message.hasSuffix("required scopes") ? Self.scopeChallenge : status == 401 ? "" : nil
        #expect(answer.headers[.wwwAuthenticate]?.hasPrefix(challenge ?? "none") == (challenge == nil ? nil : true))
        #expect((answer.headers[.retryAfter] != nil) == (status == 429 || status == 503))
        // The pool's own faults are logged as errors, also where the response must not show them.
        let isMisconfigured =
            status == 503 && !["InternalErrorException", "CodeDeliveryFailureException"].contains(type)
            || type.hasSuffix("RoleAccessPolicyException") || message.hasPrefix("CustomMessage")
        #expect(log.lines.contains { $0.hasPrefix("error ") } == isMisconfigured, "\(log.lines)")
    }

    @Test("No call blames the access token for anything else", arguments: CognitoAccounts.operations)
    func challenges(operation: AccountOperation) async throws {
        let errors: [(type: String, message: String, isOfToken: Bool)] = [
            ("NotAuthorizedException", "Incorrect username or password.", false),
            ("NotAuthorizedException", "User is disabled.", false),
            ("NotAuthorizedException", "Password attempts exceeded", false),
            ("NotAuthorizedException", "Invalid session for the user.", false),
            ("NotAuthorizedException", "Refresh Token has been revoked", false),
            ("NotAuthorizedException", "Temporary password has expired and must be reset", false),
            ("NotAuthorizedException", "Access Token does not have required scopes", false),
            ("UserLambdaValidationException", "PreTokenGeneration failed with error no.", false),
            ("RefreshTokenReuseException", "", false), ("CodeMismatchException", "", false),
            ("NotAuthorizedException", "Access Token has been revoked", true),
            ("NotAuthorizedException", "Access Token has expired", true),
            ("UserNotFoundException", "User does not exist.", true),
        ]
        let needsToken = operation.bearer == .required
        for error in errors where !(needsToken && error.message.begins(with: "Refresh Token")) {
            let fetcher = RecordedFetcher(Fixture.failure(error.type, error.message))
            let answer = try await Fixture.accounts(fetcher).answer(try request(sealed: operation))
            let blamesToken = answer.headers[.wwwAuthenticate] == #"Bearer error="invalid_token""#
            #expect(blamesToken == (needsToken && error.isOfToken && answer.status == .unauthorized), "\(error)")
            if needsToken, !error.isOfToken { #expect(answer.status != .unauthorized, "\(error)") }
        }
    }

    /// As `request(_:)`, with what the gateway has sealed itself.
    private func request(sealed operation: AccountOperation) throws -> AccountRequest {
        switch operation {
        case .refresh: return try Fixture.refresh(Fixture.sealedText())
        default: return request(operation)
        }
    }

    @Test(
        "With concealment a registration that fails after the check of the address looks like one of a taken address",
        arguments: [
            ("CodeDeliveryFailureException", "", "delivery-failed", nil),
            ("UserLambdaValidationException", "CustomMessage failed with error no.", "rejected-by-trigger", nil),
            ("UserLambdaValidationException", "PreSignUp failed with error no.", "", 403),
            ("LimitExceededException", "Exceeded daily email limit for the account.", "throttled", nil),
            ("InvalidSmsRoleAccessPolicyException", "", "pool-misconfigured", nil),
            ("UnexpectedLambdaException", "CustomMessage invocation failed.", "pool-misconfigured", nil),
            ("UnexpectedLambdaException", "PreSignUp invocation failed.", "", 503),
            ("TooManyRequestsException", "", "", 429),
        ] as [(String, String, String, Int?)])
    func concealedFailure(type: String, message: String, reason: String, shown: Int?) async throws {
        var settings = Fixture.settings()
        settings.concealsExistingUsers = true
        let observer = RecordedCalls()
        let fetcher = RecordedFetcher(Fixture.failure("UsernameExistsException"), Fixture.failure(type, message))
        let accounts = try Fixture.accounts(fetcher, settings: settings, accountGuard: observer)
        let taken = await accounts.answer(request(.register))
        #expect(taken.status == .created)
        let failed = await accounts.answer(request(.register))
        if let shown {
            #expect(failed.status.code == shown)
            return
        }
        #expect(failed.status == taken.status && failed.body == taken.body && failed.headers == taken.headers)
        guard case .refused(_, let noted)? = observer.entries.last?.outcome else {
            Issue.record("no refusal is noted")
            return
        }
        #expect(noted.code == reason)
    }

    @Test(
        "A disabled user hears it once the pool has shown that the password was right",
        arguments: [
            ("Incorrect username or password.", 403, "UserDisabledException"),
            ("User is disabled.", 401, "NotAuthorizedException"),
        ])
    func disabled(toWrongPassword: String, status: Int, error: String) async throws {
        let disabled = Fixture.failure("NotAuthorizedException", "User is disabled.")
        let fetcher = RecordedFetcher(disabled, Fixture.failure("NotAuthorizedException", toWrongPassword), disabled)
        let accounts = try Fixture.accounts(fetcher)
        for calls in [2, 3] {
            let answer = await accounts.answer(request(.login))
            #expect(answer.status.code == status && answer.json["error"]?.stringValue == error)
            #expect(await fetcher.requests.count == calls, "the pool is asked once more, and never again")
        }
        let passwords = await fetcher.bodies.map { $0["AuthParameters"]?["PASSWORD"]?.stringValue }
        #expect(passwords[0] == Fixture.password && passwords[1] != Fixture.password)
    }

    @Test("Cognito's policy is told, and nothing else that stands where it does")
    func passwordPolicy() async throws {
        for (message, told) in [
            ("Password did not conform with policy: Password not long enough", "Password not long enough"),
            ("Password did not conform with policy: \u{1b}[31m", nil), ("Anything else: p4ssw0rd", nil),
        ] as [(String, String?)] {
            let fetcher = RecordedFetcher(Fixture.failure("InvalidPasswordException", message))
            let text = try await Fixture.accounts(fetcher).answer(request(.register)).json["message"]?.stringValue
            let expected = told.map { "The password does not meet the policy: \($0)." }
            #expect(text == expected ?? "The password does not meet the policy.")
        }
    }

    // MARK: Bad input

    @Test("Without what it needs a call is 422 that names each field, and Cognito is not asked", arguments: withBody)
    func missing(operation: AccountOperation) async throws {
        let required: [AccountOperation: Set<String>] = [
            .login: ["email", "password"], .register: ["email", "password"], .confirm: ["email", "code"],
            .resendCode: ["email"], .forgotPassword: ["email"], .resetPassword: ["email", "code", "new_password"],
            .changePassword: ["current_password", "new_password"], .challenge: ["challenge", "session", "code"],
            .refresh: ["refresh_token"], .verifyTOTP: ["code"],
        ]
        guard let names = required[operation] else { return }
        let errors = try await refused(request(operation, [:]))
        #expect(Set(errors.keys) == names)
    }

    private static let scopeChallenge =
        #"Bearer error="insufficient_scope", scope="aws.cognito.signin.user.admin""#

    @Test("A telephone number beside the attributes is refused, and not passed over")
    func numberOfProfile() async throws {
        for number in ["+4915112345682", nil] as [JSON] {
            let errors = try await refused(request(.updateMe, ["phone_number": number]))
            #expect(errors["phone_number"] != nil)
        }
    }

    @Test("An attribute that is the name to sign in with as well is 422: Cognito would get it twice")
    func nameAsAttribute() async throws {
        var settings = Fixture.settings()
        settings.acceptedNames = [.phoneNumber]
        let body: JSONObject = [
            "phone_number": "+4915112345681", "password": "Correct-Horse-9",
            "attributes": ["phone_number": "+4915112345682"],
        ]
        let fetcher = RecordedFetcher()
        let answer = try await Fixture.accounts(fetcher, settings: settings).answer(request(.register, body))
        #expect(answer.status == .unprocessableContent)
        #expect(answer.json["fields"] == ["attributes.phone_number": "is given twice"])
        #expect(await fetcher.requests.isEmpty)
    }

    @Test("A value of a wrong type is 422, for each field of each call", arguments: withBody)
    func wrongTypes(operation: AccountOperation) async throws {
        for (name, right) in Self.body(operation) {
            for wrong in [7, true, ["text"], ["a": "b"]] as [JSON] {
                if right.boolValue != nil, wrong.boolValue != nil { continue }
                if right.objectValue != nil, wrong.objectValue != nil { continue }
                var body = Self.body(operation)
                body[name] = wrong
                let errors = try await refused(request(operation, body))
                #expect(errors.keys.contains(name), "\(name): \(wrong)")
            }
        }
    }

    @Test("Oversized and control characters, and look-alikes in names and codes, are 422", arguments: withBody)
    func hostileTexts(operation: AccountOperation) async throws {
        for (name, right) in Self.body(operation) where right.stringValue != nil {
            var hostile = [String(repeating: "x", count: 8193), "a\u{0}b", "a\r\nb", "\u{1b}[31m", "a\u{85}b"]
            if ["email", "code", "session", "challenge"].contains(name) {
                // Cyrillic, full width, Arabic digits, an invisible character, one that turns the text round.
                hostile += [
                    "ad\u{430}@example.com", "ada\u{FF20}example.com", "１２３４５６", "١٢٣٤٥٦", "ada\u{200B}@example.com",
                ]
            }
            if ["email", "code", "session", "challenge", "name"].contains(name) { hostile.append("ada\u{202E}moc") }
            for text in hostile {
                var body = Self.body(operation)
                body[name] = .string(text)
                let errors = try await refused(request(operation, body))
                #expect(errors.keys.contains(name), "\(name): \(text.prefix(40).debugDescription)")
            }
        }
    }

    @Test("What is no JSON, or no object, is 400 or 422", arguments: withBody)
    func noObject(operation: AccountOperation) async throws {
        for (text, status) in [("{", 400), ("[]", 422), ("\"a\"", 422), (#"{"email":"a","email":"b"}"#, 400)] {
            let fetcher = RecordedFetcher()
            var request = request(operation)
            request.body = Array(text.utf8)
            #expect(try await Fixture.accounts(fetcher).answer(request).status.code == status)
            #expect(await fetcher.requests.isEmpty)
        }
    }

    // MARK: Ways to call

    private func request(_ operation: AccountOperation, _ body: JSONObject? = nil) -> AccountRequest {
        let body = body ?? Self.body(operation)
        let hasBody = Self.withBody.contains(operation)
        let json = hasBody ? JSON.object(body) : .null
        return operation.bearer == .required ? Fixture.bearer(operation, json) : Fixture.request(operation, json)
    }

    /// The faults of a request that is refused with 422 without asking anyone.
    private func refused(_ request: AccountRequest) async throws -> [String: String] {
        let fetcher = RecordedFetcher()
        let answer = try await Fixture.accounts(fetcher).answer(request)
        #expect(answer.status == .unprocessableContent)
        #expect(await fetcher.requests.isEmpty)
        let members = answer.json["fields"]?.objectValue ?? [:]
        return Dictionary(members.map { ($0.name, $0.value.stringValue ?? "") }) { first, _ in first }
    }
}
