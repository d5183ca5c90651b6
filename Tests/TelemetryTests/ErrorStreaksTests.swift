import Encoding
import Testing

@testable import Telemetry

@Suite("Last errors")
struct ErrorStreaksTests {
    private static let server = ErrorSource.server(upstream: "api", server: "one")

    private func error(_ text: String) -> RecordedError { RecordedError(text: text, requestID: "id-of-\(text)") }

    private func record(
        status: Int, route: String? = nil, reason: String? = nil, target: String = "/x?secret=hidden"
    ) -> AccessRecord {
        AccessRecord(
            time: 0, requestID: "id", clientAddress: "192.0.2.1", method: "GET", target: target, status: status,
            bytesSent: 0, duration: 1, route: route, denialReason: reason)
    }

    @Test("Errors without a longer pause are one streak, with the last error")
    func streak() throws {
        var errors = ErrorStreaks()
        errors.add(Self.server, at: 100) { error("first") }
        errors.add(Self.server, at: 160) { error("second") }
        // Within a second the first stands for all, and no text is made for the others.
        errors.add(Self.server, at: 160) {
            Issue.record("the text of an error that nobody sees")
            return error("third")
        }
        var streak = try #require(errors.streaks[Self.server])
        #expect((streak.since, streak.time, streak.count, streak.error) == (100, 160, 3, error("second")))
        errors.add(Self.server, at: 221) { error("later") }
        streak = try #require(errors.streaks[Self.server])
        #expect((streak.since, streak.time, streak.count, streak.error) == (221, 221, 1, error("later")))
    }

    @Test("A clock that was set back ends no streak and no error is lost for it")
    func clockSetBack() throws {
        var errors = ErrorStreaks()
        errors.add(Self.server, at: 100) { error("first") }
        errors.add(Self.server, at: 40) { error("second") }
        let streak = try #require(errors.streaks[Self.server])
        #expect((streak.since, streak.count, streak.error) == (100, 2, error("first")))
    }

    @Test("As many sources as there is room for are kept, those with the newest errors")
    func bounded() {
        var errors = ErrorStreaks(capacity: 3)
        for number in 0..<10 {
            errors.add(.route("route \(number)"), at: Int64(100 + number)) { error("e") }
        }
        errors.add(.route("route 9"), at: 110) { error("e") }
        #expect(Set(errors.streaks.keys) == [.route("route 7"), .route("route 8"), .route("route 9")])
    }

    @Test("Texts are cut, and hold no value of a query")
    func texts() throws {
        let recent = RecentEvents()
        recent.add(record(status: 502, target: "/\(String(repeating: "a", count: 9000))?b=c"), at: 1)
        recent.add(
            record(status: 503, route: "r", reason: "overloaded"), error: String(repeating: "b", count: 900), at: 1)
        let streaks = recent.errorStreaks
        #expect(try #require(streaks[.route(nil)]).error.request?.count == RecordedError.longest)
        let error = try #require(streaks[.route("r")]).error
        #expect(error.text.count == RecordedError.longest && error.request == "GET /x?secret=")
    }

    @Test("A refusal counts for its reason, a 5xx response for its route, and a client that has gone for nothing")
    func sources() throws {
        let recent = RecentEvents()
        recent.add(record(status: 401, route: "r", reason: "expired"), at: 1)
        recent.add(record(status: 500, route: "r"), at: 2)
        recent.add(record(status: 503, route: "s", reason: "overloaded"), at: 3)
        recent.add(record(status: 502, route: "t", reason: "client-disconnected"), at: 4)
        recent.serverErred("one", of: "api", "refused", requestID: "x", at: 5)
        let streaks = recent.errorStreaks
        #expect(
            streaks.mapValues(\.error.text) == [
                .reason("expired"): "expired", .route("r"): "status 500", .reason("overloaded"): "overloaded",
                .route("s"): "overloaded", Self.server: "refused",
            ])
        // A response of the backend's own is no refusal.
        #expect(recent.lastDenials.count == 2)
    }
}
