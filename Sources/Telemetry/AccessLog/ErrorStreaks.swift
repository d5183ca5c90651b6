package import Encoding

/// Errors of one kind that follow each other closely: since when they have come, how many, and the last one.
package struct ErrorStreak: Sendable, Equatable {
    /// Seconds since 1970 of the first and of the last error.
    package fileprivate(set) var since: Int64
    package fileprivate(set) var time: Int64
    package fileprivate(set) var count: Int
    package fileprivate(set) var error: RecordedError
}

/// The last error of a streak, for people. Its texts are cut.
package struct RecordedError: Sendable, Equatable {
    package let text: String
    package let requestID: String
    /// The method and the path, without the values of the query; nil where they are not known.
    package let request: String?

    static let longest = 200

    init(text: String, requestID: String, request: String? = nil) {
        self.text = String(text.prefix(Self.longest))
        self.requestID = String(requestID.prefix(Self.longest))
        self.request = request.map { String($0.prefix(Self.longest)) }
    }
}

/// A thing that has errors.
package enum ErrorSource: Hashable, Sendable {
    case server(upstream: ExactText, server: ExactText)
    /// Nil: no route was taken.
    case route(ExactText?)
    /// Requests that were refused for a reason, by its code.
    case reason(ExactText)

    /// Errors further apart than this, in seconds, belong to two streaks. They are the times that the dashboard looks
    /// back for a problem.
    fileprivate var gap: Int64 {
        switch self {
        case .server, .route: 60
        case .reason: 300
        }
    }
}

/// The streaks of all sources: a bounded number, of which the longest past goes first.
struct ErrorStreaks {
    private let capacity: Int
    private(set) var streaks: [ErrorSource: ErrorStreak] = [:]

    init(capacity: Int = 512) {
        self.capacity = capacity
    }

    /// Adds an error. Within one second the first one stands for all: a flood of errors costs a look-up each.
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
