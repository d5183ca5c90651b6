package import Encoding

extension AuditReport {
    /// The document of `--json`.
    ///
    /// - Parameter severity: the minimum severity that fails the audit.
    package func json(path: String, failingOn severity: Severity) -> JSONObject {
        [
            "good": .bool(isGood(failingOn: severity)), "path": .string(path), "files": .number(JSONNumber(filesRead)),
            "left_out": .number(JSONNumber(leftOut)), "archives": .number(JSONNumber(skippedArchives)),
            "not_read": .array(
                notRead.map { ["path": .string($0.path), "reason": .string($0.reason.text)] }),
            "errors": .number(JSONNumber(count(of: .error))),
            "warnings": .number(JSONNumber(count(of: .warning))), "notes": .number(JSONNumber(count(of: .note))),
            "known": .number(JSONNumber(known.count)), "findings": .array(findings.map(\.json)),
        ]
    }
}

extension Finding {
    fileprivate var json: JSON {
        [
            "rule": .string(rule.rawValue), "severity": .string(severity.rawValue), "path": .string(path),
            "line": line.map { .number(JSONNumber($0)) } ?? .null,
            "column": column.map { .number(JSONNumber($0)) } ?? .null, "title": .string(rule.title),
            "name": .string(name), "context": .string(context.rawValue), "replacement": .string(replacement),
            "fingerprint": .string(fingerprint),
        ]
    }
}
