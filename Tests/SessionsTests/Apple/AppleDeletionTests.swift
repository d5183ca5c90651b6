import Encoding
import HTTPTypes
import Pipeline
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Sessions

@Suite("Deletions that Apple's server tells of")
struct AppleDeletionTests {
    typealias Apple = AppleFixture
    typealias World = AppleSignInTests.World

    /// Notes who is told to be deleted; the first time it cannot tell, where a test wants that.
    private final class Telling: AccountGuard {
        private let state: Mutex<(fails: Bool, deleted: [String?])>

        init(failsAtFirst fails: Bool = false) { state = Mutex((fails, [])) }

        var deleted: [String?] { state.withLock { $0.deleted } }

        func admit(_ call: AccountCall) async throws(Refusal) -> Admission { Admission(call) }
        func identify(_ admission: inout Admission, as username: String?) async -> Int? { nil }
        func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {
            let call = admission.call
            guard case .succeeded = outcome, call.operation.effect == .userDeleted else { return }
            let isTold = state.withLock { state -> Bool in
                guard !state.fails else {
                    state.fails = false
                    return false
                }
                state.deleted.append(call.subject)
                return true
            }
            guard isTold else { throw .retryLater(.serviceUnavailable, after: 5, reason: .request(.userSyncFailed)) }
        }
        func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {}
    }

    /// Records in which nothing can be marked as used the first time.
    private final class SpendingLater: SingleUseRecords {
        struct Failure: Error {}
        private let users: StoredUsers
        private let fails = Mutex(true)

        init(_ users: StoredUsers) { self.users = users }

        func spend(_ digest: [UInt8], until endsAt: Int64, now: Int64) async throws -> Bool {
            let isFirst = fails.withLock { fails -> Bool in
                defer { fails = false }
                return fails
            }
            guard !isFirst else { throw Failure() }
            return try await users.spend(digest, until: endsAt, now: now)
        }

        func spend(_ proof: UserSignIn.Proof, now: Int64) async throws -> SpendingStep {
            try await users.spend(proof, now: now)
        }

        func isSpent(_ digest: [UInt8]) async throws -> Bool { try await users.isSpent(digest) }
    }

    private static func endpoints(
        _ world: World, _ accountGuard: any AccountGuard, spent: (any SingleUseRecords)? = nil
    ) throws -> SessionEndpoints {
        let fixture = world.fixture
        return SessionEndpoints(
            name: SessionFixture.issuer, sessions: try fixture.sessions(),
            apple: try Apple.signIn(
                fixture.users, fixture.log, grants: try world.grants, spent: spent, now: fixture.now),
            flow: AccountFlow(accountGuard))
    }

    private static func notification(_ world: World) throws -> AccountRequest {
        let claims: JSONObject = [
            "iss": .string(Apple.issuer), "aud": .string(Apple.app), "iat": .number(JSONNumber(Apple.now)),
            "jti": "deletion-1", "events": ["type": "account-delete", "sub": .string(Apple.subject)],
        ]
        return world.fixture.request(.appleNotifications, nil, ["payload": .string(try Apple.jws(claims))])
    }

    @Test("One that others could not be told of is told when it comes again, and the user is there until then")
    func toldAgain() async throws {
        let world = try World()
        let token = try #require(try await world.signIn(Apple.identityToken()).token)
        let user = try #require(try await world.user())
        let telling = Telling(failsAtFirst: true)
        let endpoints = try Self.endpoints(world, telling)
        let request = try Self.notification(world)
        #expect(await endpoints.answer(request).status == .serviceUnavailable)
        #expect(world.fixture.verify(token) == nil, "it counts no more in any case")
        #expect(try await world.user() != nil)
        for _ in 0..<2 {
            #expect(await endpoints.answer(request).status == .ok)
            #expect(telling.deleted == [user.id], "once, as it has come through")
            #expect(try await world.user() == nil)
        }
    }

    @Test("One that cannot be marked as taken has been told")
    func notMarked() async throws {
        let world = try World()
        _ = try await world.signIn(Apple.identityToken())
        let user = try #require(try await world.user())
        let telling = Telling()
        let endpoints = try Self.endpoints(world, telling, spent: SpendingLater(world.fixture.users))
        let request = try Self.notification(world)
        #expect(await endpoints.answer(request).status == .serviceUnavailable)
        #expect(telling.deleted == [user.id])
        #expect(await endpoints.answer(request).status == .ok)
        #expect(telling.deleted == [user.id], "nobody is left to be deleted")
        #expect(try await world.user() == nil)
    }
}
