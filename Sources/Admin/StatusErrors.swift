internal import Encoding
internal import Telemetry

/// The last errors in the form of `/status`.
struct StatusErrors {
    private let streaks: [ErrorSource: ErrorStreak]

    init(_ streaks: [ErrorSource: ErrorStreak]) {
        self.streaks = streaks
    }

    /// The last error of a server; null if there is none.
    func ofServer(_ server: String, of upstream: String) -> JSON {
        let source = ErrorSource.server(upstream: ExactText(upstream), server: ExactText(server))
        return streaks[source].map { .object(Self.fields($0)) } ?? .null
    }

    /// The last 5xx response of each route, the newest first. The route is null if no route matched.
    var routes: [JSON] {
        rows { source in
            guard case .route(let route) = source else { return nil }
            return ("route", route.map { .string($0.text) } ?? .null)
        }
    }

    /// The last refusal for each reason, the newest first.
    var refusals: [JSON] {
        rows { source in
            guard case .reason(let reason) = source else { return nil }
            return ("reason", .string(reason.text))
        }
    }

    private func rows(_ name: (ErrorSource) -> (String, JSON)?) -> [JSON] {
        let found = streaks.compactMap { source, streak in name(source).map { ($0, streak) } }
        return found.sorted { $0.1.time > $1.1.time }.map { name, streak in
            var fields = Self.fields(streak)
            fields[name.0] = name.1
            let request: JSON = streak.error.request.map { .string($0) } ?? .null
            fields["request"] = request
            return .object(fields)
        }
    }

    private static func fields(_ streak: ErrorStreak) -> JSONObject {
        [
            "since": .number(JSONNumber(streak.since)), "time": .number(JSONNumber(streak.time)),
            "count": .number(JSONNumber(Int64(streak.count))), "error": .string(streak.error.text),
            "request_id": .string(streak.error.requestID),
        ]
    }
}
