internal import Pipeline

/// Writes audit events as JSON, one object a line.
///
/// Keys: `event`, `time` (RFC 3339, UTC, milliseconds), `request_id`, `operation`, `client_address`, `application`, and
/// where known `subject_hash`, `account_hash` (see ``AuditHashes``), `device_id`, `device_platform`, `app_version`,
/// `real_user_status` and `reason`. What a client has chosen is escaped: no line breaks, no control characters.
package struct AuditEncoder: Sendable {
    private let hashes: AuditHashes
    private var clock = TimestampEncoder()

    package init(_ hashes: AuditHashes) {
        self.hashes = hashes
    }

    /// Appends the event as one JSON object, without a newline behind it.
    package mutating func encode(_ event: AuditEvent, into line: inout [UInt8]) {
        line.append(contentsOf: #"{"event":""#.utf8)
        line.append(contentsOf: event.kind.rawValue.utf8)
        line.append(contentsOf: #"","time":""#.utf8)
        clock.append(milliseconds: event.time, to: &line)
        line.append(UInt8(ascii: "\""))
        line.appendField("request_id", event.requestID)
        line.appendField("operation", event.operation)
        line.appendField("client_address", event.address)
        line.appendField("application", event.application)
        if let subject = event.subject { line.appendField("subject_hash", hashes.hash(ofSubject: subject)) }
        if let account = event.account { line.appendField("account_hash", hashes.hash(ofAccount: account)) }
        if let device = event.device {
            line.appendField("device_id", device.id)
            line.appendField("device_platform", device.platform)
            if let version = device.appVersion { line.appendField("app_version", version) }
        }
        if let status = event.realUserStatus { line.appendField("real_user_status", status) }
        if let reason = event.reason { line.appendField("reason", reason) }
        line.append(UInt8(ascii: "}"))
    }
}
