internal import Locking
internal import Pipeline

/// Runs the refreshes of one session one after the other, whichever of its tokens they present.
///
/// The app may use a successor while its parent is being exchanged again: with rotation, two calls to Cognito with one
/// token would look like the reuse of a stolen one. Gateways that share records coordinate by leases.
final class SessionQueue: Sendable {
    private typealias Turn = CheckedContinuation<Void, Never>

    /// The waiting callers of each session that has work in progress.
    private let waiting = Locked<[[UInt8]: [Turn]]>([:])

    var isEmpty: Bool { waiting.withLock { $0.isEmpty } }

    /// Returns the number of callers that wait or work.
    func count(of family: [UInt8]) -> Int { waiting.withLock { waiting in waiting[family].map { $0.count + 1 } ?? 0 } }

    /// Runs `work` while no other runs for the session, in the order of the calls.
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
