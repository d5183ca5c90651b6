internal import Locking

/// The lengths of sessions, from the sign-in to the call that ended them or found them ended.
package final class SessionLengths: Sendable {
    /// The cause of a session's end.
    package enum End: String, CaseIterable, Sendable {
        case signOut = "sign-out"
        /// The account was deleted.
        case deletion
        /// The refresh token has expired, or the session has reached its maximum lifetime.
        case expiry
        /// The session was unused for too long.
        case idle
        /// A refresh token was reused.
        case reuse
        /// The session was revoked from another device, by an operator, or at the identity provider.
        case revocation
    }

    /// The counts for one cause.
    package struct Reading: Sendable, Equatable {
        package var end: End
        /// One count for each of ``limits``, and one for lengths above the last. Not cumulative.
        package var counts: [Int64]
        /// The sum of all lengths in seconds.
        package var sum: Int64
    }

    /// The upper limits in seconds: 5 minutes, 1 hour, 6 hours, 1 day, 1 week, 30 days, 90 days, 1 year.
    package static let limits: [Int64] = [
        300, 3600, 21_600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000,
    ]

    private struct State {
        var readings: [Reading]
        /// The ids of the last counted sessions. An app may present the token of an ended session again.
        var known: Set<String> = []
        var order: [String] = []
        var oldest = 0
    }

    private let capacity: Int
    private let state: Locked<State>

    /// - Parameter capacity: the number of remembered sessions, which are not counted again.
    package init(capacity: Int = 4096) {
        self.capacity = max(1, capacity)
        state = Locked(
            State(
                readings: End.allCases.map { end in
                    Reading(end: end, counts: Array(repeating: 0, count: Self.limits.count + 1), sum: 0)
                }))
    }

    /// - Parameters:
    ///   - id: the unique id of the session.
    ///   - length: the session's length in seconds.
    package func ended(_ id: String, by end: End, after length: Int64) {
        let length = max(0, length)
        state.withLock { state in
            guard remember(id, in: &state), let row = End.allCases.firstIndex(of: end) else { return }
            let place = Self.limits.firstIndex { length <= $0 } ?? Self.limits.count
            state.readings[row].counts[place] += 1
            state.readings[row].sum &+= length
        }
    }

    /// - Returns: false if the id is already remembered.
    private func remember(_ id: String, in state: inout State) -> Bool {
        guard state.known.insert(id).inserted else { return false }
        if state.order.count < capacity {
            state.order.append(id)
        } else {
            state.known.remove(state.order[state.oldest])
            state.order[state.oldest] = id
            state.oldest = (state.oldest + 1) % capacity
        }
        return true
    }

    package var snapshot: [Reading] { state.withLock { $0.readings } }
}
