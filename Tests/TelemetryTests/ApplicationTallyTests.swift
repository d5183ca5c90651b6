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

    @Test("Labels are by app and operation, and no more names become labels than there may ever be")
    func labels() {
        let tally = ApplicationTally(capacity: 3, labelCapacity: 4, operations: ["SignUp"])
        for _ in 0..<5 { tally.count("MyApp/1.0", operation: "SignUp", refused: false, now: 1) }
        tally.count("MyApp/1.0", operation: "Made\nUp", refused: false, now: 1)
        tally.count("MyApp/1.0", operation: nil, refused: false, now: 1)
        #expect(
            tally.calls == [
                .init(application: "MyApp/1.0", operation: "SignUp", count: 5),
                .init(application: "MyApp/1.0", operation: "other", count: 2),
                .init(application: "(others)", operation: "other", count: 0),
            ])
        var names: Set<String> = []
        var others: Int64 = 0
        for number in 0..<100 {
            tally.count("flood/\(number)", operation: "SignUp", refused: false, now: Int64(number))
            let calls = tally.calls
            names.formUnion(calls.map(\.application))
            #expect(calls.reduce(0) { $0 + $1.count } == 8 + Int64(number), "nothing is lost")
            let now = calls.filter { $0.application == "(others)" }.reduce(0) { $0 + $1.count }
            #expect(now >= others, "a counter")
            others = now
        }
        #expect(names == ["MyApp/1.0", "flood/0", "flood/1", "flood/2", "(others)"])
    }
}
