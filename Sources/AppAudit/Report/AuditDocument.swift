internal import Encoding

/// Recognizes baselines and JSON reports that this audit wrote. They quote the names of findings, but make no calls.
enum AuditDocument {
    private static let baseline: Set = ["fingerprint", "rule", "path", "name"]
    private static let report = baseline.union(["severity", "line", "column", "title", "context", "replacement"])

    /// Whether the file is such a document with findings. Additional members are allowed.
    static func isOne(_ bytes: [UInt8]) -> Bool {
        let limits = JSONLimits(maximumBytes: Baseline.maximumBytes)
        guard let document = try? JSON.parse(bytes, limits: limits).objectValue,
            let findings = document["findings"]?.arrayValue, !findings.isEmpty
        else { return false }
        let members = document["version"] == nil ? report : baseline
        return findings.allSatisfy { finding in
            guard let finding = finding.objectValue else { return false }
            return members.allSatisfy { finding[$0] != nil }
        }
    }
}
