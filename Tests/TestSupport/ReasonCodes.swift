package import Pipeline

extension Reason {
    /// The first reason with this code.
    package static func with(_ code: String) -> Reason {
        guard let reason = allCases.first(where: { $0.code == code }) else { preconditionFailure("no reason \(code)") }
        return reason
    }
}
