internal import Encoding
internal import Pipeline

/// Writes access records as JSON, one object per line.
///
/// ``LogName`` lists the members. The time is RFC 3339 in UTC with milliseconds. The query contains parameter names
/// without their values, and `subject_hash` is the same as in the audit log (``UserHashes``). Unknown values are
/// omitted.
struct AccessLogEncoder: Sendable {
    /// Nil for text.
    private let names: LogNames?
    private let hashes: UserHashes?
    private var clock = TimestampEncoder()
    /// A cache of hashes: callers send many requests, and a hash costs as much as half a line.
    private var subjectHashes: [ExactText: String] = [:]
    private static let maximumSubjectHashes = 4096
    /// The key generation of the cached hashes.
    private var generation = 0

    /// - Parameter hashes: nil: subjects are omitted.
    init(_ hashes: UserHashes?, _ format: LogFormat = .json) {
        self.hashes = hashes
        names = format.schema.map { LogNames($0, .access) }
    }

    /// Appends the line of `record` to `line`, with the newline that ends it.
    mutating func encode(_ record: AccessRecord, into line: inout [UInt8]) {
        if let names { encodeJSON(record, names, into: &line) } else { encodeText(record, into: &line) }
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
        if let host = record.host { line.appendTextField("host", host) }
        line.appendTextField("bytes_received", record.bytesReceived)
        line.appendTextField("bytes_sent", record.bytesSent)
        if let duration = record.upstreamDuration {
            line.append(contentsOf: " upstream=".utf8)
            line.appendDuration(microseconds: duration)
        }
        if let status = record.upstreamStatus { line.appendTextField("upstream_status", Int64(status)) }
        if let server = record.server { line.appendTextField("server", server) }
        if record.retries > 0 { line.appendTextField("retries", Int64(record.retries)) }
        if let route = record.route { line.appendTextField("route", route) }
        if let clientProtocol = record.clientProtocol {
            line.appendTextField("http_version", clientProtocol.http.text.description)
            if let version = clientProtocol.tls { line.appendTextField("tls_version", version.text.description) }
        }
        if let agent = record.loggedUserAgent { line.appendTextField("user_agent", agent) }
        if let hash = record.subject.flatMap({ hash(ofSubject: $0) }) { line.appendTextField("subject_hash", hash) }
        if let reason = record.denialReason { line.appendTextField("denial_reason", reason) }
        if let proxy = record.decisionFor { line.appendTextField("decision_for", proxy) }
        line.appendTextField("request_id", record.requestID)
        if let trace = record.trace { line.appendTextFields(trace) }
        line.append(UInt8(ascii: "\n"))
    }

    private mutating func encodeJSON(_ record: AccessRecord, _ names: LogNames, into line: inout [UInt8]) {
        line.append(contentsOf: names.begin)
        clock.append(milliseconds: record.time, to: &line)
        line.append(contentsOf: names.afterTime)
        line.appendField(names[.requestID], record.requestID)
        line.appendField(names[.clientAddress], record.clientAddress)
        line.appendField(names[.method], record.method)
        if let host = record.host {
            line.appendField(names[.host], names.schema == .own ? host : AccessRecord.withoutPort(host))
        }
        appendTarget(record, names, to: &line)
        line.appendField(names[.status], Int64(record.status))
        if let status = record.upstreamStatus { line.appendField(names[.upstreamStatus], Int64(status)) }
        line.appendField(names[.bytesReceived], record.bytesReceived)
        line.appendField(names[.bytesSent], record.bytesSent)
        line.appendField(names[.duration], record.duration)
        if let duration = record.upstreamDuration { line.appendField(names[.upstreamDuration], duration) }
        if let server = record.server { line.appendField(names[.server], server) }
        if record.retries > 0 { line.appendField(names[.retries], Int64(record.retries)) }
        if let route = record.route { line.appendField(names[.route], route) }
        if let clientProtocol = record.clientProtocol {
            line.appendField(names[.httpVersion], plain: clientProtocol.http.text)
            if let version = clientProtocol.tls { line.appendField(names[.tlsVersion], plain: version.text) }
        }
        if let agent = record.loggedUserAgent { line.appendField(names[.userAgent], agent) }
        if let hash = record.subject.flatMap({ hash(ofSubject: $0) }) { line.appendField(names[.subjectHash], hash) }
        if let reason = record.denialReason { line.appendField(names[.denialReason], reason) }
        if let proxy = record.decisionFor { line.appendField(names[.decisionFor], proxy) }
        if let trace = record.trace { line.appendFields(trace, names) }
        line.append(contentsOf: "}\n".utf8)
    }

    /// Appends path and query as one member in the gateway's own schema, and as separate members otherwise.
    private func appendTarget(_ record: AccessRecord, _ names: LogNames, to line: inout [UInt8]) {
        line.appendKey(names[.path])
        line.append(UInt8(ascii: "\""))
        let start = line.count
        line.append(contentsOf: record.target.utf8)
        RedactedTarget.redact(&line, from: start)
        guard names.schema != .own, let mark = line[start...].firstIndex(of: UInt8(ascii: "?")) else {
            line.escape(from: start)
            line.append(UInt8(ascii: "\""))
            return
        }
        let query = String(decoding: line[(mark + 1)...], as: UTF8.self)
        line.removeSubrange(mark...)
        line.escape(from: start)
        line.append(UInt8(ascii: "\""))
        line.appendField(names[.query], query)
    }

    private mutating func hash(ofSubject subject: String) -> String? {
        guard let hashes else { return nil }
        // Only ASCII texts are cached: canonically equivalent texts could be taken for the same key, although they are
        // different subjects.
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
