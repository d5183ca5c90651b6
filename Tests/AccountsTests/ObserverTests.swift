import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts

@Suite("What watches over account calls")
struct ObserverTests {
    @Test("A call is shown before Cognito is asked, with what the request says, and after it, with what came of it")
    func login() async throws {
        let observer = RecordedCalls()
        var request = Fixture.login(["device_info": ["device_id": "phone-7", "platform": "ios", "model": "X"]])
        request.userAgent = "App/2.0"
        _ = try await Fixture.accounts(RecordedFetcher(Fixture.tokens()), accountGuard: observer).answer(request)
        let entries = observer.entries
        #expect(entries.count == 2)
        let before = try #require(entries.first?.call)
        #expect(before.operation == .login)
        #expect(before.poolID == Fixture.poolID)
        #expect(before.account == Fixture.email)
        #expect(before.subject == nil)
        #expect(before.device?.deviceID == "phone-7")
        #expect(before.device?.model == "X")
        #expect(before.provenDevice == nil)
        #expect(before.clientAddress == "192.0.2.7")
        #expect(before.userAgent == "App/2.0")
        #expect(before.requestID == "request-1")
        let after = try #require(entries.last)
        #expect(after.call.subject == Fixture.username)
        guard case .signedIn(let user) = after.outcome else { return #expect(Bool(false), "\(after)") }
        #expect(user.email == Fixture.email)
    }

    @Test("Who is not admitted gets the observer's refusal, Cognito is not asked, and the refusal is told")
    func refusedBefore() async throws {
        let observer = RecordedCalls(admission: .retryLater(.tooManyRequests, after: 7, reason: .limit(.address)))
        let fetcher = RecordedFetcher()
        let answer = try await Fixture.accounts(fetcher, accountGuard: observer).answer(Fixture.login())
        #expect(answer.status == .tooManyRequests)
        #expect(answer.headers[.retryAfter] == "7")
        #expect(await fetcher.requests.isEmpty)
        guard case .refused(.tooManyRequests, reason: .limit(.address)) = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("A success that an observer does not let count is refused")
    func refusedAfter() async throws {
        let observer = RecordedCalls(end: .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)))
        let (fetcher, records) = (RecordedFetcher(Fixture.tokens(), Fixture.output([:])), try Fixture.records())
        let answer = try await Fixture.accounts(fetcher, records: records, accountGuard: observer)
            .answer(Fixture.login())
        #expect(answer.status == .serviceUnavailable)
        #expect(answer.reason == .request(.userSyncFailed))
        #expect(await fetcher.operations == ["InitiateAuth", "RevokeToken"], "nobody has its tokens")
        let withRecords = try await records.all(subject: Fixture.username, poolID: Fixture.poolID)
        #expect(withRecords.map(\.endedAt) == [Fixture.now])
    }

    @Test("A session of a sign-in that an observer does not let count ends here also where Cognito cannot be had")
    func refusedAfterAlone() async throws {
        let observer = RecordedCalls(end: .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)))
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.failure("InternalErrorException"))
        let records = try Fixture.records()
        let answer = try await Fixture.accounts(fetcher, records: records, accountGuard: observer)
            .answer(Fixture.login())
        #expect(answer.reason == .request(.userSyncFailed))
        let withRecords = try await records.all(subject: Fixture.username, poolID: Fixture.poolID)
        #expect(withRecords.map(\.endedAt) == [Fixture.now])
    }

    @Test("A sign-in whose session cannot be kept leaves none at Cognito")
    func reportNotStored() async throws {
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.output([:]))
        let store = try Store(path: ":memory:", migrations: [])
        let answer = try await Fixture.accounts(fetcher, records: StoredSessions(store)).answer(Fixture.login())
        #expect(answer.status == .serviceUnavailable && answer.reason?.code == "session-records-unavailable")
        #expect(await fetcher.operations == ["InitiateAuth", "RevokeToken"])
    }

    @Test("A failure keeps its own answer, whatever an observer says to it")
    func failureStays() async throws {
        let observer = RecordedCalls(end: Refusal(.internalFailure, reason: .account(.sealingFailed)))
        let fetcher = RecordedFetcher(Fixture.failure("NotAuthorizedException", "Incorrect username or password."))
        let answer = try await Fixture.accounts(fetcher, accountGuard: observer).answer(Fixture.login())
        #expect(answer.status == .unauthorized)
        guard case .refused(.notAuthorized, reason: .cognito(.badCredentials)) = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("A refresh token that is none counts as a call")
    func guess() async throws {
        let observer = RecordedCalls()
        let request = Fixture.request(.refresh, ["refresh_token": "garbage"])
        let answer = try await Fixture.accounts(RecordedFetcher(), accountGuard: observer).answer(request)
        #expect(answer.reason?.code == "invalid-refresh-token" && observer.entries.count == 2)
    }

    @Test("A malformed request counts as a call, and is told")
    func malformed() async throws {
        let observer = RecordedCalls()
        var request = Fixture.login()
        request.body = Array("{".utf8)
        _ = try await Fixture.accounts(RecordedFetcher(), accountGuard: observer).answer(request)
        #expect(observer.entries.map { $0.outcome == nil } == [true, false])
        guard case .refused(.badRequest, reason: .account(.malformedJSON)) = observer.entries.last?.outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
    }

    @Test("A refresh and a call with a bearer token are shown with their subject")
    func subjects() async throws {
        let observer = RecordedCalls()
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.tokens(refreshToken: nil), Fixture.output([:])), accountGuard: observer)
        _ = try await accounts.answer(Fixture.refresh(Fixture.sealedText()))
        _ = await accounts.answer(
            Fixture.bearer(.changePassword, ["current_password": "one", "new_password": "another"]))
        let before = observer.entries.filter { $0.outcome == nil }.map(\.call)
        #expect(before.map(\.operation) == [.refresh, .changePassword])
        #expect(before.map(\.subject) == [Fixture.username, Fixture.username])
        #expect(before.first?.device?.deviceID == "device-1", "what the session is bound to")
    }

    @Test("A confirmation with a password is two calls")
    func confirmation() async throws {
        let observer = RecordedCalls()
        let answer = try await Fixture.accounts(
            RecordedFetcher(Fixture.output([:]), Fixture.tokens()), accountGuard: observer
        ).answer(
            Fixture.request(
                .confirm, ["email": .string(Fixture.email), "code": "123456", "password": .string(Fixture.password)]))
        #expect(answer.status == .ok)
        #expect(observer.entries.map(\.call.operation) == [.confirm, .confirm, .login, .login])
        #expect(observer.entries.map(\.call.account) == Array(repeating: Fixture.email, count: 4))
    }

    @Test("A challenge is shown with the account that the sign-in began with")
    func challenge() async throws {
        let observer = RecordedCalls()
        let asked: JSON = ["ChallengeName": "SOFTWARE_TOKEN_MFA", "Session": "one", "ChallengeParameters": [:]]
        let accounts = try Fixture.accounts(
            RecordedFetcher(Fixture.output(asked), Fixture.tokens()), accountGuard: observer)
        let session = await accounts.answer(Fixture.login()).json["session"] ?? .null
        _ = await accounts.answer(
            Fixture.request(
                .challenge, ["challenge": "SOFTWARE_TOKEN_MFA", "session": session, "code": "123456"]))
        guard case .challenged("SOFTWARE_TOKEN_MFA") = observer.entries[1].outcome else {
            return #expect(Bool(false), "\(observer.entries)")
        }
        #expect(observer.entries[2].call.account == Fixture.email)
    }

    @Test("Nothing of what observers see is secret")
    func secrets() async throws {
        let observer = RecordedCalls()
        _ = try await Fixture.accounts(RecordedFetcher(Fixture.tokens()), accountGuard: observer)
            .answer(Fixture.login())
        var printed = ""
        dump(observer.entries, to: &printed)
        for secret in [Fixture.password, Fixture.accessToken, "provider-refresh-token"] {
            #expect(!printed.contains(secret))
        }
    }
}
