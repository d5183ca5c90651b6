internal import Encoding

/// Writes access records as JSON, one object a line.
///
/// Keys: `time` (RFC 3339, UTC, milliseconds), `request_id`, `client_address`, `method`, `path` (with the names of the
/// query's parameters and without their values), `status`, `bytes_sent`, `duration_us`, and where known
/// `upstream_duration_us`, `server`, `retries` (where there were any), `route`, `subject_hash` (as in the audit log,
/// see ``UserHashes``), `denial_reason`, `decision_for`, `trace_id` and `span_id`.
struct AccessLogEncoder: Sendable {
    private let format: LogFormat
    private let hashes: UserHashes?
    private var clock = TimestampEncoder()
    /// Callers come with many requests; a hash costs as much as half a line.
    private var subjectHashes: [ExactText: String] = [:]
    private static let maximumSubjectHashes = 4096
    /// That of the hashes above.
    private var generation = 0

    /// - Parameter hashes: nil leaves subjects out.
    init(_ hashes: UserHashes?, _ format: LogFormat = .json) {
        self.hashes = hashes
        self.format = format
    }

    /// Appends the line of `record` to `line`, with the newline that ends it.
    mutating func encode(_ record: AccessRecord, into line: inout [UInt8]) {
        switch format {
        case .json: encodeJSON(record, into: &line)
        case .text: encodeText(record, into: &line)
        }
    }

    /// `2026-01-31T23:59:59.123Z GET /path 200 12.3ms client_address=…`
    private mutating func encodeText(_ record: AccessRecord, into line: inout [UInt8]) {
        clock.append(milliseconds: record.time, to: &line)
        line.append(UInt8(ascii: " "))
        line.appendEscaped(record.method)
        line.append(UInt8(ascii: " "))
        let start = line.count
        line.append(contentsOf: record.target.utf8)
        RedactedTarget.redact(&line, from: start)
        line.escape(from: start)
        line.append(contentsOf: " \(record.status) ".utf8)
        line.appendDuration(microseconds: record.duration)
        line.appendTextField("client_address", record.clientAddress)
        line.appendTextField("bytes_sent", record.bytesSent)
        if let duration = record.upstreamDuration {
            line.append(contentsOf: " upstream=".utf8)
            line.appendDuration(microseconds: duration)
        }
        if let server = record.server { line.appendTextField("server", server) }
        if record.retries > 0 { line.appendTextField("retries", Int64(record.retries)) }
        if let route = record.route { line.appendTextField("route", route) }
        if let hash = record.subject.flatMap({ hash(ofSubject: $0) }) { line.appendTextField("subject_hash", hash) }
        if let reason = record.denialReason { line.appendTextField("denial_reason", reason) }
        if let proxy = record.decisionFor { line.appendTextField("decision_for", proxy) }
        line.appendTextField("request_id", record.requestID)
        if let trace = record.trace { line.appendFields(trace, format: .text) }
        line.append(UInt8(ascii: "\n"))
    }

    private mutating func encodeJSON(_ record: AccessRecord, into line: inout [UInt8]) {
        line.append(contentsOf: #"{"time":""#.utf8)
        clock.append(milliseconds: record.time, to: &line)
        line.append(UInt8(ascii: "\""))
        line.appendField("request_id", record.requestID)
        line.appendField("client_address", record.clientAddress)
        line.appendField("method", record.method)
        line.append(contentsOf: #","path":""#.utf8)
        let start = line.count
        line.append(contentsOf: record.target.utf8)
        RedactedTarget.redact(&line, from: start)
        line.escape(from: start)
        line.append(UInt8(ascii: "\""))
        line.appendField("status", Int64(record.status))
        line.appendField("bytes_sent", record.bytesSent)
        line.appendField("duration_us", record.duration)
        if let duration = record.upstreamDuration { line.appendField("upstream_duration_us", duration) }
        if let server = record.server { line.appendField("server", server) }
        if record.retries > 0 { line.appendField("retries", Int64(record.retries)) }
        if let route = record.route { line.appendField("route", route) }
        if let hash = record.subject.flatMap({ hash(ofSubject: $0) }) { line.appendField("subject_hash", hash) }
        if let reason = record.denialReason { line.appendField("denial_reason", reason) }
        if let proxy = record.decisionFor { line.appendField("decision_for", proxy) }
        if let trace = record.trace { line.appendFields(trace, format: .json) }
        line.append(contentsOf: "}\n".utf8)
    }

    private mutating func hash(ofSubject subject: String) -> String? {
        guard let hashes else { return nil }
        // Other texts that are canonically equivalent are one key, and still different subjects.
        guard subject.utf8.span.isPlainJSON else { return hashes.hash(ofSubject: subject) }
        let generation = hashes.generation
        if generation != self.generation {
            subjectHashes.removeAll(keepingCapacity: true)
            self.generation = generation
        }
        let key = ExactText(subject)
        if let known = subjectHashes[key] { return known }
        if subjectHashes.count >= Self.maximumSubjectHashes { subjectHashes.removeAll(keepingCapacity: true) }
        let hash = hashes.hash(ofSubject: subject)
        subjectHashes[key] = hash
        return hash
    }
}
