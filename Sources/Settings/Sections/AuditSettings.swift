package import Cryptography
package import Pipeline
internal import SettingsReader

/// The log and the webhook for account events.
package struct AuditSettings: Sendable {
    /// The destination of audit lines.
    package enum Log: Sendable, Equatable {
        case standardOutput
        case off
        case file(String)
    }

    package var log: Log
    /// Nil: events are only logged.
    package var webhook: AuditWebhookSettings?
}

/// The destination of audit events.
package struct AuditWebhookSettings: Sendable {
    package var url: ServiceURL
    /// The events that are sent.
    package var events: [AuditEventKind]
    /// The key that authenticates deliveries; nil: only an assertion does, if configured.
    package var secret: Secret?
    package var timeout: Duration
}

extension AuditSettings {
    init(reading keys: SettingsMapping) {
        let format = ScalarFormat.logFile(known: ["off"], hint: "off switches the log off")
        let text = keys.value("log", format, default: "stdout")
        log =
            switch text {
            case "stdout": .standardOutput
            case "off": .off
            default: .file(keys.node.context.resolve(path: text))
            }
        if case .file(let path) = log { keys.note(.file, path, of: "log") }
        webhook = keys.optional("webhook")?.section(AuditWebhookSettings.init(reading:)) ?? nil
    }
}

extension AuditWebhookSettings {
    fileprivate init?(reading keys: SettingsMapping) {
        let url = keys.webhookURL()
        let timeout = keys.value("timeout", .duration(.milliseconds(100) ... .seconds(60)), default: .seconds(5))
        let words = AuditEventKind.allCases.map(\.rawValue)
        if keys.isEmptyList("events") { keys.error("events", "must name at least one") }
        let events = keys.list("events", .word(among: words), of: "events") ?? words
        let secretNode = keys.optional("secret")
        let secret = secretNode?.readSecret()
        if let secret, secret.expose().contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            secretNode?.error("must not hold control characters, such as a second line")
        }
        guard let url else { return nil }
        self.init(url: url, events: events.compactMap(AuditEventKind.init), secret: secret, timeout: timeout)
    }
}

extension SettingsMapping {
    /// The URL that the gateway posts events to. It must be https unless the file allows http, since events contain
    /// data about users. The URL is treated as a secret, since knowing it may suffice to post there.
    func webhookURL() -> ServiceURL? {
        let insecure = value("allow_insecure_http", .boolean, default: false)
        guard let node = required("url"), let url = node.read(.url, isSecret: true) else { return nil }
        if url.isPlain, !insecure {
            node.error("the messages contain data about users: https only, unless allow_insecure_http is true")
        }
        return url
    }
}
