package import Encoding

extension AuditReport {
    /// The report in SARIF 2.1.0, for code scanning. Findings of the baseline are included as suppressed.
    ///
    /// - Parameter version: the version of this program.
    package func sarif(version: String) -> JSON {
        let notifications = notRead.map { file -> JSON in
            ["level": "error", "message": ["text": .string("\(file.path) \(file.reason.text)")]]
        }
        let driver: JSON = [
            "name": "gatehouse audit-app", "version": .string(version), "rules": .array(Rule.allCases.map(\.sarif)),
        ]
        let run: JSON = [
            "tool": ["driver": driver],
            "invocations": [
                [
                    "executionSuccessful": .bool(notRead.isEmpty),
                    "toolExecutionNotifications": .array(notifications),
                ]
            ],
            "results": .array(findings.map { $0.sarif(isKnown: false) } + known.map { $0.sarif(isKnown: true) }),
        ]
        return [
            "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
            "version": "2.1.0", "runs": [run],
        ]
    }
}

extension Rule {
    /// The rule as a reportingDescriptor (SARIF 2.1.0, 3.49).
    fileprivate var sarif: JSON {
        [
            "id": .string(rawValue), "shortDescription": ["text": .string("The app \(title).")],
            "fullDescription": ["text": .string(reason)], "help": ["text": .string("Instead: \(replacement).")],
            "defaultConfiguration": ["level": .string(severity.rawValue)],
        ]
    }
}

extension Finding {
    /// The finding as a result (SARIF 2.1.0, 3.27). Locations in binaries have no line.
    fileprivate func sarif(isKnown: Bool) -> JSON {
        let uri = path.split(separator: "/", omittingEmptySubsequences: false)
            .map { PercentEncoding.encode(String($0)) }.joined(separator: "/")
        var location: JSONObject = ["artifactLocation": ["uri": .string(uri), "uriBaseId": "%SRCROOT%"]]
        if let line { location["region"] = ["startLine": .number(JSONNumber(line))] }
        let suppressions: [JSON] = isKnown ? [["kind": "external"]] : []
        return [
            "ruleId": .string(rule.rawValue), "level": .string(severity.rawValue),
            "message": ["text": .string("\(name): \(rule.title). Instead: \(replacement).")],
            "locations": [["physicalLocation": .object(location)]],
            "partialFingerprints": ["gatehouse/v1": .string(fingerprint)], "suppressions": .array(suppressions),
        ]
    }
}
