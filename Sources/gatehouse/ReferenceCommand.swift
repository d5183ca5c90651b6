internal import Admin
internal import AppAudit
internal import ArgumentParser
internal import Encoding
internal import Pipeline
internal import Telemetry

/// `gatehouse reference`: prints facts about the program for documentation and tools.
struct ReferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reference",
        abstract: "Print the lists of codes, metrics, log fields, commands and variables as JSON.",
        discussion: """
            Contains reason codes, error responses, metrics, log fields, audit events, rules of audit-app, exit statuses, \
            commands with their options, and environment variables. The same code uses these lists at run time. `gatehouse schema` describes \
            the configuration.

            Example: gatehouse reference > reference.json
            """)

    func run() throws {
        let document: JSONObject = [
            "reasons": .array(Reference.reasons), "errors": .array(Reference.errors),
            "metrics": .array(Reference.metrics), "label_values": .object(Reference.labelValues),
            "log_fields": [
                "access": .array(LogFields.access.map { .string($0) }),
                "audit": .array(LogFields.audit.map { .string($0) }),
            ],
            "log_schemas": .array(Reference.logSchemas),
            "audit_events": .array(AuditEventKind.allCases.map { .string($0.rawValue) }),
            "audit_rules": .array(Reference.auditRules),
            "audit_calls": .array(Reference.auditCalls),
            "exit_statuses": .array(Reference.exitStatuses),
            "environment_variables": .array(Reference.variables),
            "commands": try JSON.parse(Array(Gatehouse._dumpHelp().utf8))["command"] ?? .null,
        ]
        StandardOutput.line(JSON.object(document).indented())
    }
}

/// The parts of the document.
private enum Reference {
    /// The reason codes. A code that several kinds share is listed once, with all its kinds.
    static var reasons: [JSON] {
        Reason.codes.map { code in
            let kinds = Reason.allCases.filter { $0.code == code }.map { JSON.string($0.kind.rawValue) }
            return ["code": .string(code), "kinds": .array(kinds)]
        }
    }

    /// The names of each field in all log schemas.
    static var logSchemas: [JSON] {
        LogName.allCases.map(\.names).map { names in
            .array([names.own, names.ecs, names.otel].map { .string($0.description) })
        }
    }

    static var errors: [JSON] {
        GatewayError.allCases.map { error in
            [
                "error": .string(error.rawValue), "status": .number(JSONNumber(error.statusCode)),
                "message": .string(error.defaultMessage),
            ]
        }
    }

    static var metrics: [JSON] {
        Metric.allCases.map { metric in
            [
                "name": .string(metric.name), "type": .string(metric.kind.rawValue),
                "labels": .array(metric.labels.map { .string($0) }), "help": .string(metric.help),
            ]
        }
    }

    /// The values of labels from closed lists, except reasons.
    static var labelValues: JSONObject {
        let labels = GatewayMetrics.labels(routes: [], upstreams: [])
        return [
            "connection_refusals": .array(labels.connectionRefusals.map { .string($0) }),
            "http2_errors": .array(labels.connectionErrors.map { .string($0) }),
            "sign_in_methods": .array(SignInMethod.allCases.map { .string($0.rawValue) }),
            "session_ends": .array(SessionLengths.End.allCases.map { .string($0.rawValue) }),
        ]
    }

    static var auditRules: [JSON] {
        Rule.allCases.map { rule in
            [
                "rule": .string(rule.rawValue), "severity": .string(rule.severity.rawValue),
                "title": .string(rule.title), "reason": .string(rule.reason),
                "replacement": .string(rule.replacement),
            ]
        }
    }

    static var auditCalls: [JSON] {
        ReplacedCall.all.map { call in
            [
                "names": .array(call.names.map { .string($0) }), "request": .string(call.request),
                "function": call.function.map { .string($0) } ?? .null,
            ]
        }
    }

    static var exitStatuses: [JSON] {
        ExitStatusHelp.meanings.map { status, meaning in
            ["status": .number(JSONNumber(Int(status.rawValue))), "meaning": .string(meaning)]
        }
    }

    static var variables: [JSON] {
        EnvironmentVariable.all.map { ["name": .string($0.name), "meaning": .string($0.meaning)] }
    }
}
