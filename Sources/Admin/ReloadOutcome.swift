internal import Encoding

/// A step of a reload, for the supervisor of the process.
package enum ReloadStep: Sendable {
    case begun
    case applied
    /// The current settings stay in use, for these reasons.
    case refused([String])
    /// Nothing was changed, because the gateway is stopping.
    case stopping
}

/// The outcome of a reload.
package enum ReloadOutcome: Sendable {
    /// The changes by kind, and each changed value.
    case applied([(name: String, change: String)], differences: [String])
    /// The reasons why the current settings stay in use, one per line.
    case refused([String])
    /// The gateway is stopping.
    case stopping

    package var step: ReloadStep {
        switch self {
        case .applied: .applied
        case .refused(let errors): .refused(errors)
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
        case .refused(let errors): ["reloaded": false, "faults": .array(errors.map { .string($0) })]
        case .stopping: ["reloaded": false, "faults": ["the gateway is stopping"]]
        }
    }
}
