internal import Pipeline

/// Writes audit events as JSON, one object per line.
///
/// ``LogName`` lists the members. The time is RFC 3339 in UTC with milliseconds; ``UserHashes`` computes the hashes.
/// Unknown values are omitted. Text chosen by clients is escaped: no line breaks, no control characters.
package struct AuditEncoder: LineEncoder {
    private let hashes: UserHashes
    /// Nil for text.
    private let names: LogNames?
    private var clock = TimestampEncoder()

    package init(_ hashes: UserHashes, _ format: LogFormat = .json) {
        self.hashes = hashes
        names = format.schema.map { LogNames($0, .audit) }
    }

    /// Appends the event as one JSON object or as text, without a newline.
    package mutating func encode(_ event: AuditEvent, into line: inout [UInt8]) {
        if let names { encodeJSON(event, names, into: &line) } else { encodeText(event, into: &line) }
    }

    private mutating func encodeText(_ event: AuditEvent, into line: inout [UInt8]) {
        clock.append(milliseconds: event.time, to: &line)
        line.append(contentsOf: " audit \(event.kind.rawValue)".utf8)
        for (name, value) in fields(event) { line.appendTextField(name.names.own.description, value) }
        if let trace = event.trace { line.appendTextFields(trace) }
    }

    private mutating func encodeJSON(_ event: AuditEvent, _ names: LogNames, into line: inout [UInt8]) {
        line.append(contentsOf: names.begin)
        clock.append(milliseconds: event.time, to: &line)
        line.append(contentsOf: names.afterTime)
        line.appendField(names[.event], event.kind.rawValue)
        for (name, value) in fields(event) { line.appendField(names[name], value) }
        if let trace = event.trace { line.appendFields(trace, names) }
        line.append(UInt8(ascii: "}"))
    }

    private func fields(_ event: AuditEvent) -> [(LogName, String)] {
        let fields: [(LogName, String?)] = [
            (.requestID, event.requestID), (.operation, event.operation), (.clientAddress, event.address),
            (.application, event.application), (.operatorName, event.operatorName), (.change, event.change),
            (.subjectHash, event.subject.map(hashes.hash(ofSubject:))),
            (.accountHash, event.account.map(hashes.hash(ofAccount:))), (.deviceID, event.device?.id),
            (.devicePlatform, event.device?.platform), (.appVersion, event.device?.appVersion),
            (.realUserStatus, event.realUserStatus), (.reason, event.reason),
        ]
        return fields.compactMap { name, value in value.map { (name, $0) } }
    }
}
