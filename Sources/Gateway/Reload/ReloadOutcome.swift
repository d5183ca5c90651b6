internal import Encoding

/// What whoever looks after the process is told of a reload.
package enum ReloadStep: Sendable {
    case begun
    case applied
    /// The settings in use stay, for these reasons.
    case refused([String])
    /// Nothing came of it: the gateway is stopping.
    case stopping
}

/// What came of a reload.
enum ReloadOutcome: Sendable {
    /// What has changed, by kind, and each value that is another one.
    case applied([(name: String, change: String)], differences: [String])
    /// Why the settings in use stay, one line a reason.
    case refused([String])
    /// The gateway is stopping.
    case stopping

    var step: ReloadStep {
        switch self {
        case .applied: .applied
        case .refused(let faults): .refused(faults)
        case .stopping: .stopping
        }
    }

    var json: JSON {
        switch self {
        case .applied(let changes, let differences):
            [
                "reloaded": true, "changes": .object(JSONObject(changes.map { ($0.name, .string($0.change)) })),
                "diff": .array(differences.map { .string($0) }),
            ]
        case .refused(let faults): ["reloaded": false, "faults": .array(faults.map { .string($0) })]
        case .stopping: ["reloaded": false, "faults": ["the gateway is stopping"]]
        }
    }
}
