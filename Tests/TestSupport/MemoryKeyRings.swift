package import Store
import Synchronization

/// Key rings that a test's gateways share.
package final class MemoryKeyRings: KeyRingRecords {
    private let stored = Mutex<[KeyPurpose: KeyRingRecord]>([:])
    private let unavailable = Mutex<(any Error)?>(nil)

    package init() {}

    /// As the database has it; nil removes it.
    package subscript(_ purpose: KeyPurpose) -> KeyRingRecord? {
        get { stored.withLock { $0[purpose] } }
        set { stored.withLock { $0[purpose] = newValue } }
    }

    /// Until it is nil, nothing can be read or written.
    package func fail(with error: (any Error)?) { unavailable.withLock { $0 = error } }

    package func keyRing(_ purpose: KeyPurpose) async throws -> KeyRingRecord? {
        try check()
        return self[purpose]
    }

    package func replace(with record: KeyRingRecord, for purpose: KeyPurpose) async throws -> Bool {
        try check()
        return stored.withLock { stored in
            guard (stored[purpose]?.version ?? 0) == record.version - 1 else { return false }
            stored[purpose] = record
            return true
        }
    }

    private func check() throws {
        if let error = unavailable.withLock({ $0 }) { throw error }
    }
}
