/// The members of the lines of all logs.
package enum LogName: Int, Sendable, CaseIterable {
    case time, type, requestID, clientAddress
    // Of the access log.
    case method, host, path, query, status, upstreamStatus, bytesReceived, bytesSent, duration, upstreamDuration, server
    case retries, route, httpVersion, tlsVersion, userAgent, decisionFor
    // Of the audit log.
    case event, operation, application, operatorName, change, accountHash, deviceID, devicePlatform, appVersion
    case realUserStatus
    // Of several.
    case subjectHash, reason, denialReason, traceID, spanID
    // Of the gateway's own log.
    case level, message, error

    /// The names in the gateway's own schema, in the Elastic Common Schema and in OpenTelemetry's conventions. Members
    /// that those do not define use the namespace `gatehouse`.
    package var names: (own: StaticString, ecs: StaticString, otel: StaticString) {
        switch self {
        case .time: ("time", "@timestamp", "timestamp")
        case .type: ("type", "event.dataset", "event.name")
        case .requestID: ("request_id", "http.request.id", "gatehouse.request_id")
        case .clientAddress: ("client_address", "client.ip", "client.address")
        case .method: ("method", "http.request.method", "http.request.method")
        case .host: ("host", "url.domain", "server.address")
        case .path: ("path", "url.path", "url.path")
        // The own schema appends it to the path.
        case .query: ("path", "url.query", "url.query")
        case .status: ("status", "http.response.status_code", "http.response.status_code")
        case .upstreamStatus: ("upstream_status", "gatehouse.upstream_status", "gatehouse.upstream_status")
        case .bytesReceived: ("bytes_received", "http.request.body.bytes", "http.request.body.size")
        case .bytesSent: ("bytes_sent", "http.response.body.bytes", "http.response.body.size")
        case .duration: ("duration_us", "gatehouse.duration_us", "gatehouse.duration_us")
        case .upstreamDuration:
            ("upstream_duration_us", "gatehouse.upstream_duration_us", "gatehouse.upstream_duration_us")
        case .server: ("server", "gatehouse.server", "gatehouse.server")
        case .retries: ("retries", "gatehouse.retries", "http.request.resend_count")
        case .route: ("route", "gatehouse.route", "gatehouse.route")
        case .httpVersion: ("http_version", "http.version", "network.protocol.version")
        case .tlsVersion: ("tls_version", "tls.version", "tls.protocol.version")
        case .userAgent: ("user_agent", "user_agent.original", "user_agent.original")
        case .decisionFor: ("decision_for", "gatehouse.decision_for", "gatehouse.decision_for")
        case .event: ("event", "event.action", "gatehouse.event")
        case .operation: ("operation", "gatehouse.operation", "gatehouse.operation")
        case .application: ("application", "gatehouse.application", "gatehouse.application")
        case .operatorName: ("operator", "user.name", "user.name")
        case .change: ("change", "gatehouse.change", "gatehouse.change")
        case .accountHash: ("account_hash", "gatehouse.account_hash", "gatehouse.account_hash")
        case .deviceID: ("device_id", "device.id", "device.id")
        case .devicePlatform: ("device_platform", "gatehouse.device_platform", "gatehouse.device_platform")
        case .appVersion: ("app_version", "gatehouse.app_version", "gatehouse.app_version")
        case .realUserStatus: ("real_user_status", "gatehouse.real_user_status", "gatehouse.real_user_status")
        case .subjectHash: ("subject_hash", "user.hash", "user.hash")
        case .reason: ("reason", "event.reason", "error.type")
        case .denialReason: ("denial_reason", "event.reason", "error.type")
        case .traceID: ("trace_id", "trace.id", "trace_id")
        case .spanID: ("span_id", "span.id", "span_id")
        case .level: ("level", "log.level", "severity_text")
        case .message: ("message", "message", "body")
        case .error: ("error", "error.message", "exception.message")
        }
    }
}

/// The schema of the members' names in JSON lines.
package enum LogSchema: Sendable, Equatable {
    case own, ecs, otel

    package func name(_ name: LogName) -> StaticString {
        switch self {
        case .own: name.names.own
        case .ecs: name.names.ecs
        case .otel: name.names.otel
        }
    }
}

/// The log of a line, so that lines of several logs can be distinguished in one stream.
package enum LogType: String, Sendable, CaseIterable {
    case access, audit, application
}

/// The names of a ``LogSchema`` in a form that is fast for encoders.
struct LogNames: Sendable {
    let schema: LogSchema
    private let names: [StaticString]
    /// The beginning of each line, up to the time: `{"time":"`.
    let begin: [UInt8]
    /// The end of the time member, and the members that are constant for a log.
    let afterTime: [UInt8]

    init(_ schema: LogSchema, _ type: LogType) {
        self.schema = schema
        names = LogName.allCases.map(schema.name)
        begin = Array("{\"\(schema.name(.time))\":\"".utf8)
        var constant = "\",\"\(schema.name(.type))\":\"\(schema == .own ? "" : "gatehouse.")\(type.rawValue)\""
        // The version of the schema.
        if schema == .ecs { constant += ",\"ecs.version\":\"8.17.0\"" }
        afterTime = Array(constant.utf8)
    }

    subscript(_ name: LogName) -> StaticString { names[name.rawValue] }

    /// The name of a metadata entry of the application log.
    func name(ofMetadata name: String) -> String {
        guard schema != .own else {
            // A name that is already used would be duplicated in the object (RFC 8259, section 4).
            return ["time", "type", "level", "message"].contains(name) ? name + "_" : name
        }
        switch name {
        case "request_id": return self[.requestID].description
        case "trace_id": return self[.traceID].description
        case "span_id": return self[.spanID].description
        case "error": return self[.error].description
        default: return "gatehouse.\(name)"
        }
    }
}
