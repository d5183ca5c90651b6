package import Encoding

/// The known findings, by their fingerprints.
package struct Baseline: Sendable {
    package enum Failure: String, Error, Sendable {
        case malformed = "is not a baseline of gatehouse audit-app"
        case otherVersion = "is a baseline of another version of gatehouse audit-app"
    }

    private let fingerprints: Set<String>
    private static let version: Int64 = 1
    /// Enough for several hundred thousand findings.
    package static let maximumBytes = 64 << 20

    /// - Parameter bytes: a document from ``text(of:)``.
    package init(_ bytes: [UInt8]) throws(Failure) {
        guard let document = try? JSON.parse(bytes, limits: JSONLimits(maximumBytes: Self.maximumBytes)).objectValue,
            let version = document["version"]?.integerValue, let findings = document["findings"]?.arrayValue
        else { throw .malformed }
        guard version == Self.version else { throw .otherVersion }
        var fingerprints: Set<String> = []
        for finding in findings {
            guard let fingerprint = finding.objectValue?["fingerprint"]?.stringValue else { throw .malformed }
            fingerprints.insert(fingerprint)
        }
        self.fingerprints = fingerprints
    }

    func contains(_ finding: Finding) -> Bool { fingerprints.contains(finding.fingerprint) }

    /// The baseline of a report's findings. Rule, path and name are included for reviewers.
    package static func text(of report: AuditReport) -> JSON {
        [
            "version": .number(JSONNumber(version)),
            "findings": .array(
                report.findings.map { finding in
                    [
                        "fingerprint": .string(finding.fingerprint), "rule": .string(finding.rule.rawValue),
                        "path": .string(finding.path), "name": .string(finding.name),
                    ]
                }),
        ]
    }
}
