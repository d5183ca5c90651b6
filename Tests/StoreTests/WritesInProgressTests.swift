import Testing

@testable import Store

@Suite("Writes under way")
struct WritesInProgressTests {
    private static let start = ContinuousClock.now

    private static func at(_ milliseconds: Int) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    @Test("Writes are stuck when none of them has ended for longer than a read waits")
    func stuck() {
        var writes = WritesInProgress(at: Self.at(0))
        #expect(!writes.areStuck(at: Self.at(1000)), "there is none")
        writes.begin(at: Self.at(1000))
        writes.begin(at: Self.at(1040))
        #expect(!writes.areStuck(at: Self.at(1050)))
        #expect(writes.areStuck(at: Self.at(1051)))
        #expect(!writes.areStuck(at: Self.at(1090), for: .milliseconds(90)))
        #expect(writes.areStuck(at: Self.at(1091), for: .milliseconds(90)))
        writes.end(at: Self.at(1060))
        #expect(!writes.areStuck(at: Self.at(1110)), "one has ended")
        #expect(writes.areStuck(at: Self.at(1111)))
        writes.end(at: Self.at(1200))
        #expect(!writes.areStuck(at: Self.at(9000)))
    }
}
