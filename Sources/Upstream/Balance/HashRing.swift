/// Consistent hashing (Karger and others, 1997): each server owns many points on a ring, and a key belongs to the next
/// point. If a server is removed, only its own keys move.
struct HashRing: Sendable {
    private struct Point {
        var position: UInt64
        var server: Int
        var weight: Int
    }

    /// Sorted by position.
    private let points: [Point]
    private let serverCount: Int

    /// The number of points per unit of weight: enough for shares to differ by only a few percent.
    private static let pointsPerWeight = 100

    /// - Parameter servers: names that are the same in every process, so that replicas agree; weights from 1.
    init(_ servers: [(name: String, weight: Int)]) {
        serverCount = servers.count
        points = servers.enumerated().flatMap { index, server in
            (0..<server.weight * Self.pointsPerWeight).map { number in
                Point(position: StableHash.of("\(server.name)#\(number)"), server: index, weight: server.weight)
            }
        }.sorted { $0.position < $1.position }
    }

    /// Calls `accept` for the servers in the order of the ring from `hash` on, possibly several times for each, and
    /// returns the first one accepted; nil if there is none.
    @inline(__always)
    func walk(from hash: UInt64, accept: (_ server: Int, _ weight: Int) -> Bool) -> Int? {
        guard !points.isEmpty else { return nil }
        var low = 0
        var high = points.count
        while low < high {
            let middle = (low + high) / 2
            if points[middle].position < hash { low = middle + 1 } else { high = middle }
        }
        for step in points.indices {
            let index = low + step
            let point = points[index < points.count ? index : index - points.count]
            if accept(point.server, point.weight) { return point.server }
        }
        return nil
    }
}

/// A hash that is the same in every process, for load balancing, not for security.
enum StableHash {
    /// FNV-1a with a final mix: FNV alone leaves the high bits of similar texts similar.
    static func of(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return mixed(hash)
    }

    static func of(_ text: String) -> UInt64 { of(text.utf8) }

    /// The finaliser of SplitMix64.
    static func mixed(_ hash: UInt64) -> UInt64 {
        var mixed = hash
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
