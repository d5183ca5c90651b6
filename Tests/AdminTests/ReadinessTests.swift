import Testing

@testable import Admin
@testable import Store

@Suite("Readiness")
struct ReadinessTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var isDraining = false
        var keySets = [true]
        var upstreams: [[Bool]] = []
        var others = true
        var store: ReadinessReport.Store?
        var list: ReadinessReport.SharedList?
        var refusedSignIns: [ReadinessReport.RefusedSignIn] = []
        var text = "ready\n"

        var isReady: Bool { text.hasPrefix("ready\n") }
        var testDescription: String { "\(self)" }
    }

    static let rows = [
        Row(),
        Row(keySets: []),
        Row(isDraining: true, text: "draining\n"),
        Row(keySets: [true, false], text: "waiting for key sets\n"),
        Row(store: .init(error: nil, isNeeded: true)),
        Row(store: .init(error: "locked", isNeeded: true), text: "the store cannot be written\nstore: locked\n"),
        Row(store: .init(error: "locked", isNeeded: false), text: "ready\nstore: locked\n"),
        // All gateways would leave the balancer at once.
        Row(store: .init(error: "away", isNeeded: true, isShared: true), text: "ready\nstore: away\n"),
        Row(list: .init(age: 4, isTooOld: false)),
        Row(list: .init(age: 5, isTooOld: false), text: "ready\nrevocations: the list is 5 s old\n"),
        Row(
            store: .init(error: "away", isNeeded: true, isShared: true), list: .init(age: 301, isTooOld: true),
            text: "ready\nstore: away\nrevocations: the list is 301 s old, no token is accepted\n"),
        Row(
            refusedSignIns: [.init(issuer: "pool", text: "unknown-issuer: iss: …")],
            text: "ready\nsign-in at pool: the gateway refuses its tokens: unknown-issuer: iss: …\n"),
        Row(upstreams: [[true]], others: false),
        Row(upstreams: [[false, true]], others: false),
        Row(upstreams: [[false], [true]], others: false, text: "ready\nupstream u0: no healthy server\n"),
        Row(upstreams: [[false]], text: "ready\nupstream u0: no healthy server\n"),
        Row(
            upstreams: [[false, false]], others: false,
            text: "no upstream has a healthy server\nupstream u0: no healthy server\n"),
        Row(
            upstreams: [[false], [false]], others: false,
            text: """
                no upstream has a healthy server
                upstream u0: no healthy server
                upstream u1: no healthy server

                """),
        Row(
            isDraining: true, upstreams: [[false]], others: false, text: "draining\nupstream u0: no healthy server\n"),
    ]

    @Test("It ends with the last upstream that can serve, and tells of the others", arguments: rows)
    func reports(row: Row) {
        let upstreams = row.upstreams.enumerated().map { index, healthy in
            ReadinessReport.CheckedUpstream(name: "u\(index)", healthy: healthy)
        }
        let report = ReadinessReport(
            isDraining: row.isDraining, keySetsHeld: row.keySets, upstreams: upstreams, others: row.others,
            store: row.store, list: row.list, refusedSignIns: row.refusedSignIns)
        #expect(report.text == row.text)
        #expect(report.isReady == row.isReady)
    }
}
