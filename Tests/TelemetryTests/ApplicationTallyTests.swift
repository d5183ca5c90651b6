import Testing

@testable import Telemetry

@Suite("Apps that call Cognito itself")
struct ApplicationTallyTests {
    @Test("Each is counted by its name, the busiest first")
    func counts() {
        let tally = ApplicationTally()
        tally.count("MyApp/1.0", refused: true, now: 1)
        tally.count("MyApp/2.0", refused: false, now: 2)
        tally.count("MyApp/2.0", refused: true, now: 3)
        #expect(
            tally.snapshot.entries == [
                .init(application: "MyApp/2.0", calls: 2, refused: 1, lastSeen: 3),
                .init(application: "MyApp/1.0", calls: 1, refused: 1, lastSeen: 1),
            ])
        #expect(tally.snapshot.others == 0)
    }

    @Test("Made-up names take the place of made-up names, not of an app in use")
    func flood() {
        let tally = ApplicationTally(capacity: 3)
        for _ in 0..<5 { tally.count("MyApp/1.0", refused: false, now: 1) }
        for number in 0..<1000 { tally.count("flood/\(number)", refused: false, now: Int64(number)) }
        let (entries, others) = tally.snapshot
        #expect(entries.count == 3)
        #expect(entries.first == .init(application: "MyApp/1.0", calls: 5, refused: 0, lastSeen: 1))
        #expect(entries.reduce(others) { $0 + $1.calls } == 1005)
    }
}
