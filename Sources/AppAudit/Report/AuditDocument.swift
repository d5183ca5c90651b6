internal import Encoding

/// A baseline or a report of JSON, as this audit writes them. It quotes the names of findings, and calls nothing.
enum AuditDocument {
    private static let baseline: Set = ["fingerprint", "rule", "path", "name"]
    private static let report = baseline.union(["severity", "line", "column", "title", "context", "replacement"])

    /// Whether a file contains such a document with findings. People may have added members to it.
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
