internal import HTTPTypes
package import Pipeline
internal import Synchronization

/// The buckets of one route's rate limit, over all event loops, for as many callers as come.
///
/// A count-min sketch with conservative update (Estan and Varghese, 2002) of ``TokenBucket`` times: a caller has a place
/// in each of three rows, and the earliest of the three times is taken for its own. No caller's own time is ever later
/// than what its places say, so nobody gets more than the limit by it. A caller whose three places all belong to others
/// that are at their limit is refused without cause: with a thousand of these, one of four thousand. Event loops that
/// count callers of one place at the same moment may count one of them twice, never less than once.
///
/// So an event loop takes no lock and looks nothing up, and memory is 384 KiB a limit, however many callers come.
@safe package final class RateLimiter: Sendable {
    /// Places in a row; a power of two.
    static let width = 16_384
    private static let rows = 3

    package let limit: RouteRateLimit
    private let bucket: TokenBucket
    /// The rows, one behind the other. Only ever read and changed atomically, and never replaced.
    private nonisolated(unsafe) let times: UnsafeMutablePointer<Atomic<UInt64>>

    package init(_ limit: RouteRateLimit) {
        self.limit = limit
        bucket = TokenBucket(rate: limit.rate, burst: limit.burst)
        unsafe times = .allocate(capacity: Self.rows * Self.width)
        for index in 0..<Self.rows * Self.width { unsafe (times + index).initialize(to: Atomic(0)) }
    }

    deinit {
        unsafe times.deinitialize(count: Self.rows * Self.width)
        unsafe times.deallocate()
    }

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - caller: the hash of whoever it counts for.
    ///   - now: nanoseconds of a clock that only goes forward.
    /// - Returns: the nanoseconds until there is room; nil if there was.
    func take(_ caller: Int, now: UInt64) -> UInt64? {
        let hash = UInt64(bitPattern: Int64(caller))
        while true {
            let (place, earliest) = earliest(of: hash)
            switch bucket.take(fullAt: earliest, now: now) {
            case .empty(let wait): return wait
            case .taken(let fullAt):
                // The earliest place comes last: were it first, another loop would find an earlier one until the rest
                // have followed, and take the same token from it.
                for row in 0..<Self.rows where Self.place(hash, row) != place {
                    raise(Self.place(hash, row), to: fullAt)
                }
                // Another loop may have taken one meanwhile.
                guard exchange(place, earliest, fullAt) else { continue }
                return nil
            }
        }
    }

    private func earliest(of hash: UInt64) -> (place: Int, time: UInt64) {
        var earliest = (place: Self.place(hash, 0), time: time(Self.place(hash, 0)))
        for row in 1..<Self.rows {
            let place = Self.place(hash, row)
            let time = time(place)
            if time < earliest.time { earliest = (place, time) }
        }
        return earliest
    }

    private static func place(_ hash: UInt64, _ row: Int) -> Int {
        row * width + Int(truncatingIfNeeded: hash >> UInt64(16 * row)) & (width - 1)
    }

    /// Whoever sees what ``exchange(_:_:_:)`` has written sees the places that were raised before it.
    private func time(_ place: Int) -> UInt64 { unsafe times[place].load(ordering: .acquiring) }

    private func exchange(_ place: Int, _ old: UInt64, _ new: UInt64) -> Bool {
        unsafe times[place].compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    private func raise(_ place: Int, to time: UInt64) {
        _ = unsafe times[place].max(time, ordering: .relaxed)
    }
}

extension RateLimiter {
    /// Counts a request for its caller. A header that is repeated names several callers, and the request counts for each
    /// of them: backends differ in which value they take.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - subject: of the verified token; nil where there is none.
    ///   - now: nanoseconds of a clock that only goes forward.
    /// - Returns: the nanoseconds until there is room; nil if there was.
    func take(_ request: HTTPRequest, client: String, subject: String?, now: UInt64) -> UInt64? {
        guard case .header(let name) = limit.key, request.headerFields.contains(name) else {
            return take(caller(client: client, subject: subject), now: now)
        }
        var longest: UInt64?
        for field in request.headerFields where field.name == name {
            guard let wait = take(Self.hash(2, field.value), now: now) else { continue }
            longest = max(longest ?? 0, wait)
        }
        return longest
    }

    private func caller(client: String, subject: String?) -> Int {
        if limit.key == .subject, let subject { return Self.hash(1, subject) }
        guard let address = IPAddress(client) else { return Self.hash(0, client) }
        var hasher = Hasher()
        hasher.combine(0)
        hasher.combine(address.ofCustomer)
        return hasher.finalize()
    }

    /// Seeded anew in each process: nobody can choose what shares a place with another's. Byte by byte: texts that only
    /// look the same are others.
    private static func hash(_ kind: Int, _ text: String) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        for byte in text.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}
