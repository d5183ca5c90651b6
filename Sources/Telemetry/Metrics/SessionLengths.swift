internal import Locking

/// How long sessions lasted: from the sign-in to the call that ended them, or that found them ended.
package final class SessionLengths: Sendable {
    /// The cause of a session's end.
    package enum End: String, CaseIterable, Sendable {
        case signOut = "sign-out"
        /// The account was deleted.
        case deletion
        /// Its refresh token has expired, or it may be refreshed no longer.
        case expiry
        /// Nothing was heard of it for too long.
        case idle
        /// A token was used once more.
        case reuse
        /// From elsewhere: from another device, by an operator, at the identity provider.
        case revocation
    }

    /// One kind of end.
    package struct Reading: Sendable, Equatable {
        package var end: End
        /// One for each of ``limits``, and one for what is above the last. Not cumulative.
        package var counts: [Int64]
        /// Of seconds.
        package var sum: Int64
    }

    /// Five minutes, an hour, six, a day, a week, thirty days, ninety, a year; in seconds.
    package static let limits: [Int64] = [
        300, 3600, 21_600, 86_400, 604_800, 2_592_000, 7_776_000, 31_536_000,
    ]

    private struct State {
        var readings: [Reading]
        /// The last that were counted. An app may well come again with the token of a session that has ended.
        var known: Set<String> = []
        var order: [String] = []
        var oldest = 0
    }

    private let capacity: Int
    private let state: Locked<State>

    /// - Parameter capacity: how many sessions are remembered, so as not to be counted again.
    package init(capacity: Int = 4096) {
        self.capacity = max(1, capacity)
        state = Locked(
            State(
                readings: End.allCases.map { end in
                    Reading(end: end, counts: Array(repeating: 0, count: Self.limits.count + 1), sum: 0)
                }))
    }

    /// - Parameters:
    ///   - id: no other session has it.
    ///   - length: in seconds.
    package func ended(_ id: String, by end: End, after length: Int64) {
        let length = max(0, length)
        state.withLock { state in
            guard remember(id, in: &state), let row = End.allCases.firstIndex(of: end) else { return }
            let place = Self.limits.firstIndex { length <= $0 } ?? Self.limits.count
            state.readings[row].counts[place] += 1
            state.readings[row].sum &+= length
        }
    }

    /// - Returns: false for one that is remembered already.
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
