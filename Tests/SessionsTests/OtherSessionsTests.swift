import HTTPTypes
import Pipeline
import Store
import Synchronization
import Testing

@testable import Accounts
@testable import Sessions

@Suite("The end of a user's other sessions")
struct OtherSessionsTests {
    private let fixture: SessionFixture

    init() throws { fixture = try SessionFixture() }

    /// Sessions that begin a second after each other.
    private func begin(_ count: Int) async throws -> [BegunSession] {
        var begun: [BegunSession] = []
        for _ in 0..<count {
            fixture.pass(1)
            begun.append(try await fixture.begin())
        }
        return begun
    }

    private func endOthers(than own: BegunSession) async throws -> AccountAnswer {
        try await fixture.endpoints().answer(fixture.request(.endOtherOwnSessions, own.token))
    }

    private func open(of own: BegunSession) async throws -> [String] {
        try await fixture.users.sessions(of: own.user.id).filter { $0.endedAt == nil }.map(\.id)
    }

    @Test("Many take one entry, whether they began before the caller's or after it, and the caller's goes on")
    func many() async throws {
        let earlier = try await begin(70)
        // At the same second as one of the others.
        let own = try await fixture.begin()
        let later = try await begin(70)
        #expect(try await endOthers(than: own).status == .noContent)
        for other in earlier + later {
            #expect(fixture.verify(other.token) == nil)
            #expect(try await fixture.refresh(other.token).status == .unauthorized)
        }
        #expect(fixture.revocations.current.count == 1)
        #expect(try await open(of: own) == [own.id])
        #expect(fixture.verify(own.token) != nil)
        let newest = try #require(try await fixture.refresh(own.token).token)
        #expect(fixture.verify(newest) != nil)
        #expect(
            try await fixture.endpoints().answer(fixture.request(.sessionLogout, newest)).status == .noContent)
        #expect(fixture.verify(newest) == nil)
    }

    @Test("One more that ends after many leaves the caller's out as well")
    func oneMore() async throws {
        let own = try await fixture.begin()
        _ = try await begin(70)
        #expect(try await endOthers(than: own).status == .noContent)
        let other = try #require(try await begin(1).first)
        var request = fixture.request(.endOwnSession, own.token)
        request.segment = other.id
        #expect(try await fixture.endpoints().answer(request).status == .noContent)
        #expect(fixture.verify(other.token) == nil && fixture.verify(own.token) != nil)
        #expect(try await open(of: own) == [own.id])
        request.segment = own.id
        #expect(try await fixture.endpoints().answer(request).status == .noContent)
        #expect(fixture.verify(own.token) == nil)
    }

    @Test("Where the revocation list is full, none ends")
    func full() async throws {
        let own = try await fixture.begin()
        let others = try await begin(2)
        fixture.revocations.isFull.withLock { $0 = true }
        let answer = try await endOthers(than: own)
        #expect(answer.status == .serviceUnavailable && answer.reason?.code == "not-revoked")
        for session in [own] + others { #expect(fixture.verify(session.token) != nil) }
        #expect(try await open(of: own).count == 3)
    }
}
