internal import Encoding
internal import Locking

/// Fault injection and a record of past calls, for tests of the pool's clients.
final class Rehearsal: Sendable {
    /// A fault that is injected into the next calls of an operation.
    struct Fault: Sendable, Equatable {
        /// The time at which the connection is closed.
        enum Drop: String, Sendable, CaseIterable {
            /// Before the operation is executed.
            case before
            /// After the operation, instead of the response.
            case after
            /// After the operation, in the middle of the response.
            case midAnswer = "mid_answer"
        }

        /// An operation's name, `JWKS`, or `*` for all.
        var operation: String
        /// The number of remaining calls with this fault; nil: all.
        var times: Int64?
        var delay: Int64 = 0
        var error: PoolError?
        /// The status of `error`; nil: Cognito's.
        var status: Int?
        var drop: Drop?
    }

    /// A record of one call, without secrets.
    struct Call: Sendable {
        var operation: String
        /// The exception's name; nil for a successful call.
        var error: String?
        /// The address in UserContextData; nil if none was sent.
        var address: String?
    }

    private struct State {
        var faults: [Fault] = []
        var counts: [String: Int64] = [:]
        var recent: [Call] = []
    }

    private static let recentCount = 200

    private let state = Locked(State())

    var faults: [Fault] {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    func add(_ faults: [Fault]) {
        state.withLock { $0.faults += faults }
    }

    /// The first fault for this call; its remaining count is decreased.
    func fault(for operation: String) -> Fault? {
        state.withLock { state in
            let index = state.faults.firstIndex { $0.operation == operation || $0.operation == "*" }
            guard let index else { return nil }
            let fault = state.faults[index]
            if let times = fault.times {
                if times > 1 { state.faults[index].times = times - 1 } else { state.faults.remove(at: index) }
            }
            return fault
        }
    }

    func record(_ call: Call) {
        state.withLock { state in
            state.counts[call.operation, default: 0] += 1
            state.recent.append(call)
            if state.recent.count > Self.recentCount { state.recent.removeFirst() }
        }
    }

    func forgetCalls() {
        state.withLock { state in
            state.counts = [:]
            state.recent = []
        }
    }

    /// `{counts: {operation: n}, recent: [{operation, error?, address?}]}`, oldest first.
    var calls: JSON {
        let (counts, recent) = state.withLock { ($0.counts, $0.recent) }
        let numbers = counts.sorted { $0.key < $1.key }.map { ($0.key, JSON.number(JSONNumber($0.value))) }
        return [
            "counts": .object(JSONObject(numbers)),
            "recent": .array(
                recent.map { call in
                    var object: JSONObject = ["operation": .string(call.operation)]
                    if let error = call.error { object["error"] = .string(error) }
                    if let address = call.address { object["address"] = .string(address) }
                    return .object(object)
                }),
        ]
    }
}
