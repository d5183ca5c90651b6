internal import Encoding
internal import Locking

/// Trouble on order and a record of what was asked, for tests of the pool's clients.
final class Rehearsal: Sendable {
    /// An error ordered for the next calls of an operation.
    struct Fault: Sendable, Equatable {
        /// When the connection is closed.
        enum Drop: String, Sendable, CaseIterable {
            /// Before anything is done.
            case before
            /// When everything is done, instead of the answer.
            case after
            /// When everything is done, in the middle of the answer.
            case midAnswer = "mid_answer"
        }

        /// An operation's name, `JWKS`, or `*` for all.
        var operation: String
        /// How many calls it still meets; nil for all.
        var times: Int64?
        var delay: Int64 = 0
        var error: PoolError?
        /// The status of `error`, where it isn't Cognito's.
        var status: Int?
        var drop: Drop?
    }

    /// One call, without anything secret.
    struct Call: Sendable {
        var operation: String
        /// The exception's name; nil for an answer.
        var error: String?
        /// UserContextData's address, where one was sent.
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

    /// The first fault that this call meets, counted.
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
