package import Encoding

/// A series of errors from one source in close succession: its start, their number, and the last one.
package struct ErrorStreak: Sendable, Equatable {
    /// The times of the first and of the last error, in seconds since 1970.
    package fileprivate(set) var since: Int64
    package fileprivate(set) var time: Int64
    package fileprivate(set) var count: Int
    package fileprivate(set) var error: RecordedError
}

/// The last error of a streak as human-readable text. Its texts are truncated.
package struct RecordedError: Sendable, Equatable {
    package let text: String
    package let requestID: String
    /// The method and the path, without the values of the query; nil if unknown.
    package let request: String?

    static let longest = 200

    init(text: String, requestID: String, request: String? = nil) {
        self.text = String(text.prefix(Self.longest))
        self.requestID = String(requestID.prefix(Self.longest))
        self.request = request.map { String($0.prefix(Self.longest)) }
    }
}

/// A source of errors.
package enum ErrorSource: Hashable, Sendable {
    case server(upstream: ExactText, server: ExactText)
    /// Nil: no route matched.
    case route(ExactText?)
    /// Requests that were refused for a reason, identified by its code.
    case reason(ExactText)

    /// The time in seconds after which another error begins a new streak. The dashboard looks back for problems over
    /// the same times.
    fileprivate var gap: Int64 {
        switch self {
        case .server, .route: 60
        case .reason: 300
        }
    }
}

/// The streaks of all sources: a bounded number, of which the one with the oldest last error is removed first.
struct ErrorStreaks {
    private let capacity: Int
    private(set) var streaks: [ErrorSource: ErrorStreak] = [:]

    init(capacity: Int = 512) {
        self.capacity = capacity
    }

    /// Adds an error. Only the first error of a second is stored; further ones are just counted, so that a flood of
    /// errors costs one lookup each.
    ///
    /// - Parameter now: seconds since 1970.
    mutating func add(_ source: ErrorSource, at now: Int64, _ error: () -> RecordedError) {
        guard let streak = streaks[source], now - streak.time <= source.gap else {
            if streaks.count >= capacity, streaks[source] == nil { removeOldest() }
            streaks[source] = ErrorStreak(since: now, time: now, count: 1, error: error())
            return
        }
        streaks[source]?.count += 1
        guard now > streak.time else { return }
        streaks[source]?.time = now
        streaks[source]?.error = error()
    }

    private mutating func removeOldest() {
        guard let oldest = streaks.min(by: { $0.value.time < $1.value.time }) else { return }
        streaks[oldest.key] = nil
    }
}
