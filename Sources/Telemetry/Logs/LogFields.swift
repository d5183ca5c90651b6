internal import Cryptography
internal import Encoding
internal import Pipeline

/// The names of the fields in the lines of the access log and of the audit log, in their order.
///
/// They are taken from an encoded line with every field, so that the list always matches the encoders.
package enum LogFields {
    private static let hashes = UserHashes(key: Secret("no user's"))
    private static let trace = TraceIDs(traceID: 1, spanID: 1)

    package static let access: [String] = {
        var (encoder, line) = (AccessLogEncoder(hashes), [UInt8]())
        encoder.encode(completeRecord, into: &line)
        return names(line)
    }()

    package static let audit: [String] = {
        var (encoder, line) = (AuditEncoder(hashes), [UInt8]())
        encoder.encode(completeEvent, into: &line)
        return names(line)
    }()

    static let completeRecord = AccessRecord(
        time: 0, requestID: "1", clientAddress: "192.0.2.1", method: "GET", target: "/", status: 200, bytesSent: 1,
        duration: 1, upstreamDuration: 1, server: "http://192.0.2.2", retries: 1, route: "api", subject: "user",
        denialReason: Reason.request(.noRoute).code, decisionFor: "nginx", trace: trace, host: "api.example.com",
        userAgent: "App/1.0", clientProtocol: ClientProtocol(http: .http2, tls: .tls13), bytesReceived: 1,
        upstreamStatus: 200)

    static let completeEvent = AuditEvent(
        .signInFailed, time: 0, requestID: "1", subject: "user", account: "user@example.com",
        device: AuditEvent.Device(id: "1", platform: "ios", appVersion: "1.0"), address: "192.0.2.1",
        application: "App/1.0", operation: "login", operatorName: "ada", change: "info -> debug",
        realUserStatus: "unknown", reason: Reason.cognito(.badCredentials).code, trace: trace)

    private static func names(_ line: [UInt8]) -> [String] {
        guard case .object(let object)? = try? JSON.parse(line) else { return [] }
        return object.map(\.name)
    }
}
