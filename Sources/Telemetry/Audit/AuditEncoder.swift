internal import Pipeline

/// Writes audit events as JSON, one object a line.
///
/// Keys: `event`, `time` (RFC 3339, UTC, milliseconds), `request_id`, `operation`, `client_address`, `application`, and
/// where known `operator`, `change`, `subject_hash`, `account_hash` (see ``UserHashes``), `device_id`,
/// `device_platform`, `app_version`, `real_user_status` and `reason`. Text that a client has chosen is escaped: no line
/// breaks, no control characters.
package struct AuditEncoder: LineEncoder {
    private let hashes: UserHashes
    private let format: LogFormat
    private var clock = TimestampEncoder()

    package init(_ hashes: UserHashes, _ format: LogFormat = .json) {
        self.hashes = hashes
        self.format = format
    }

    /// Appends the event as one JSON object or text, without a newline behind it.
    package mutating func encode(_ event: AuditEvent, into line: inout [UInt8]) {
        switch format {
        case .json: encodeJSON(event, into: &line)
        case .text: encodeText(event, into: &line)
        }
    }

    private mutating func encodeText(_ event: AuditEvent, into line: inout [UInt8]) {
        clock.append(milliseconds: event.time, to: &line)
        line.append(contentsOf: " audit \(event.kind.rawValue)".utf8)
        for (name, value) in fields(event) { line.appendTextField(name.description, value) }
        if let trace = event.trace { line.appendFields(trace, format: .text) }
    }

    private mutating func encodeJSON(_ event: AuditEvent, into line: inout [UInt8]) {
        line.append(contentsOf: #"{"event":""#.utf8)
        line.append(contentsOf: event.kind.rawValue.utf8)
        line.append(contentsOf: #"","time":""#.utf8)
        clock.append(milliseconds: event.time, to: &line)
        line.append(UInt8(ascii: "\""))
        for (name, value) in fields(event) { line.appendField(name, value) }
        if let trace = event.trace { line.appendFields(trace, format: .json) }
        line.append(UInt8(ascii: "}"))
    }

    private func fields(_ event: AuditEvent) -> [(StaticString, String)] {
        let fields: [(StaticString, String?)] = [
            ("request_id", event.requestID), ("operation", event.operation), ("client_address", event.address),
            ("application", event.application), ("operator", event.operatorName), ("change", event.change),
            ("subject_hash", event.subject.map(hashes.hash(ofSubject:))),
            ("account_hash", event.account.map(hashes.hash(ofAccount:))), ("device_id", event.device?.id),
            ("device_platform", event.device?.platform), ("app_version", event.device?.appVersion),
            ("real_user_status", event.realUserStatus), ("reason", event.reason),
        ]
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }
}
