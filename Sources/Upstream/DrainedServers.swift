internal import Encoding
internal import Locking

/// The servers that an operator has drained, by upstream and server name. They stay drained across reloads.
package final class DrainedServers: Sendable {
    struct Key: Hashable {
        @Exact var upstream: String
        @Exact var server: String
    }

    private let keys = Locked<Set<Key>>([])

    package init() {}

    /// All drained servers, in no particular order.
    package var names: [(upstream: String, server: String)] {
        keys.withLock { keys in keys.map { ($0.upstream, $0.server) } }
    }

    package func contains(_ server: String, of upstream: String) -> Bool {
        keys.withLock { $0.contains(Key(upstream: upstream, server: server)) }
    }

    package func set(_ isDrained: Bool, _ server: String, of upstream: String) {
        let key = Key(upstream: upstream, server: server)
        keys.withLock { keys in
            if isDrained { keys.insert(key) } else { keys.remove(key) }
        }
    }
}
