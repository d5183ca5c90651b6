/// How the time of day goes wrong between two steps of a test.
///
/// A test of time runs with each of them, and expects the same of each, except where the time of day counts by
/// definition, as for a token's `exp`.
package enum ClockSteps: String, CaseIterable, Sendable {
    /// It stays right.
    case none
    /// Two hours behind from now on.
    case back
    /// Two hours behind for a while.
    case backAndForth
    /// Forty days ahead for a while.
    case aheadAndBack

    /// By how many seconds it is ahead of the right time, one after the other.
    package var errors: [Int64] {
        switch self {
        case .none: []
        case .back: [-7200]
        case .backAndForth: [-7200, 0]
        case .aheadAndBack: [40 * 86_400, 0]
        }
    }

    /// Whether the clock is right after them.
    package var endRight: Bool { self != .back }

    /// Those after which the clock is right again, and what may be asked is as before.
    package static let passing: [ClockSteps] = allCases.filter(\.endRight)
}

/// A clock that a test sets.
package protocol SettableClock: Sendable {
    /// By how many seconds the time of day is ahead of the right one. A steady clock does not hear of it.
    func set(error: Int64)
}

extension SettableClock {
    /// Takes the steps.
    ///
    /// - Parameter work: done at each wrong time, as a gateway that runs on would.
    package func take(_ steps: ClockSteps, doing work: () async throws -> Void = {}) async rethrows {
        for error in steps.errors {
            set(error: error)
            if error != 0 { try await work() }
        }
    }
}
