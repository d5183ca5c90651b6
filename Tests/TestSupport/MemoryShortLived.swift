package import Store
import Synchronization

/// Values that several gateways of a test know, in memory, without an end.
package final class MemoryShortLived: ShortLivedRecords {
    package struct Broken: Error {}

    private struct Name: Hashable {
        var kind: ShortLivedKind
        var key: [UInt8]

        init(_ kind: ShortLivedKind, _ key: String) { (self.kind, self.key) = (kind, Array(key.utf8)) }
    }

    private let state = Mutex<(values: [Name: [UInt8]], seconds: [Int64], isBroken: Bool)>(([:], [], false))

    package init() {}

    package func fail(_ fails: Bool) { state.withLock { $0.isBroken = fails } }
    /// All that is stored.
    package var stored: [[UInt8]] { state.withLock { Array($0.values.values) } }
    /// For how long each was stored, in order.
    package var seconds: [Int64] { state.withLock { $0.seconds } }

    package func keep(_ values: [ShortLivedValue], _ kind: ShortLivedKind, seconds: Int64) async throws {
        try use { state in
            for value in values { state.values[Name(kind, value.key)] = value.value }
            state.seconds.append(seconds)
        }
    }

    package func values(_ kind: ShortLivedKind, by keys: [String]) async throws -> [ShortLivedValue] {
        try use { state in
            keys.compactMap { key in state.values[Name(kind, key)].map { ShortLivedValue(key: key, value: $0) } }
        }
    }

    package func take(_ kind: ShortLivedKind, by key: String) async throws -> [UInt8]? {
        try use { $0.values.removeValue(forKey: Name(kind, key)) }
    }

    package func removeEnded() async throws {}

    private func use<Value: Sendable>(
        _ body: (inout (values: [Name: [UInt8]], seconds: [Int64], isBroken: Bool)) -> Value
    ) throws -> Value {
        try state.withLock { state in
            guard !state.isBroken else { throw Broken() }
            return body(&state)
        }
    }
}
