/// The audit log. Any thread can write to it without waiting.
package typealias AuditLog = QueuedLog<AuditEncoder>

extension QueuedLog where Encoder == AuditEncoder {
    package convenience init(_ encoder: AuditEncoder, capacity: Int = 65_536, write: @escaping Write) {
        self.init(name: "audit-log", capacity: capacity, encoder: encoder, write: write)
    }
}
