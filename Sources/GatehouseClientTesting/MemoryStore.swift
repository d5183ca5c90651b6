public import Foundation
public import GatehouseClient

/// A store that ends with the process, for previews and tests.
public final class MemoryStore: SessionStore, @unchecked Sendable {
    // Unchecked: `data` is only used under `lock`. Mutex needs iOS 18.
    private let lock = NSLock()
    private var data: Data?

    public init(_ data: Data? = nil) { self.data = data }

    public func read() -> Data? { lock.withLock { data } }

    public func replace(_ old: Data?, with new: Data?) -> Bool {
        lock.withLock {
            guard data == old else { return false }
            data = new
            return true
        }
    }
}
