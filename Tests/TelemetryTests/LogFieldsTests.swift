import Testing

@testable import Telemetry

@Suite("Names of log fields")
struct LogFieldsTests {
    @Test("The lines that the names are read from have every field")
    func complete() {
        for value in [LogFields.completeRecord, LogFields.completeEvent] as [Any] {
            for child in Mirror(reflecting: value).children {
                let mirror = Mirror(reflecting: child.value)
                #expect(mirror.displayStyle != .optional || !mirror.children.isEmpty, "\(child.label ?? "") is nil")
            }
        }
        #expect(LogFields.access.starts(with: ["time", "type", "request_id", "client_address"]))
        #expect(LogFields.access.contains("denial_reason") && LogFields.access.contains("span_id"))
        #expect(LogFields.audit.starts(with: ["time", "type", "event", "request_id"]))
        #expect(LogFields.audit.contains("account_hash") && LogFields.audit.contains("trace_id"))
    }
}
