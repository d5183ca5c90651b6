internal import Locking
internal import Pipeline

/// Lets the refreshes of one session go one after the other, whichever of its tokens they show.
///
/// The app may use a successor while its parent is shown once more: with rotation, two calls to Cognito with one token
/// would look like the reuse of a stolen one. Among gateways that share records, leases do the same.
final class SessionQueue: Sendable {
    private typealias Turn = CheckedContinuation<Void, Never>

    /// Those who wait, for each session that someone is at work on.
    private let waiting = Locked<[[UInt8]: [Turn]]>([:])

    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    /// Those who wait or are at work.
    func count(of family: [UInt8]) -> Int { waiting.withLock { waiting in waiting[family].map { $0.count + 1 } ?? 0 } }

    /// - Parameter work: begins when it is the only one for the session, in the order of the calls.
    func alone<Value>(
        _ family: [UInt8], _ work: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        await withCheckedContinuation { join(family, $0) }
        defer { leave(family) }
        return try await work()
    }

    private func join(_ family: [UInt8], _ turn: Turn) {
        let isFirst = waiting.withLock { waiting in
            guard waiting[family] != nil else {
                waiting[family] = []
                return true
            }
            waiting[family]?.append(turn)
            return false
        }
        if isFirst { turn.resume() }
    }

    private func leave(_ family: [UInt8]) {
        let next = waiting.withLock { waiting -> Turn? in
            guard waiting[family]?.isEmpty == false else {
                waiting[family] = nil
                return nil
            }
            return waiting[family]?.removeFirst()
        }
        next?.resume()
    }
}
