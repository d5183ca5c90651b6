internal import HTTPTypes
package import Pipeline
internal import Synchronization

/// The token buckets of one route's rate limit, shared by all event loops, for any number of callers.
///
/// A count-min sketch with conservative update (Estan and Varghese, 2002) of ``TokenBucket`` times. A caller has one
/// cell in each of three rows, and the earliest of the three times counts as its own. A cell is never earlier than the
/// true time of any caller that uses it, so nobody gets more than the limit. A caller is wrongly refused if all three
/// of its cells belong to callers at their limit: with 1,000 of these, about one caller in 4,000. Event loops that
/// count callers of the same cell at the same moment may count one of them twice, but never less than once.
///
/// An event loop therefore takes no lock and searches nothing. Memory is 384 KiB per limit, however many callers there
/// are.
@safe package final class RateLimiter: Sendable {
    /// The number of cells in a row; a power of two.
    static let width = 16_384
    private static let rows = 3

    package let limit: RouteRateLimit
    private let bucket: TokenBucket
    /// The cells of all rows, row by row. Accessed only atomically, and never reallocated.
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
    ///   - caller: the hash of the caller that the request counts for.
    ///   - now: the time of a monotonic clock in nanoseconds.
    /// - Returns: nil if the request is within the limit; otherwise the nanoseconds until there is room.
    func take(_ caller: Int, now: UInt64) -> UInt64? {
        let hash = UInt64(bitPattern: Int64(caller))
        while true {
            let (place, earliest) = earliest(of: hash)
            switch bucket.take(fullAt: earliest, now: now) {
            case .empty(let wait): return wait
            case .taken(let fullAt):
                // The earliest cell is raised last. If it were raised first, another loop could see one of the other
                // cells as the earliest until they are raised, and take the same token from it.
                for row in 0..<Self.rows where Self.place(hash, row) != place {
                    raise(Self.place(hash, row), to: fullAt)
                }
                // Retried if another loop has taken a token meanwhile.
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

    /// Acquiring: a loop that sees a value written by ``exchange(_:_:_:)`` also sees the cells that were raised before
    /// it.
    private func time(_ place: Int) -> UInt64 { unsafe times[place].load(ordering: .acquiring) }

    private func exchange(_ place: Int, _ old: UInt64, _ new: UInt64) -> Bool {
        unsafe times[place].compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
    }

    private func raise(_ place: Int, to time: UInt64) {
        _ = unsafe times[place].max(time, ordering: .relaxed)
    }
}

extension RateLimiter {
    /// Counts a request for its caller. A repeated header names several callers, and the request counts for each of
    /// them: backends differ in the value that they use.
    ///
    /// - Parameters:
    ///   - client: the client's address.
    ///   - subject: the subject of the verified token; nil if there is none.
    ///   - now: the time of a monotonic clock in nanoseconds.
    /// - Returns: nil if the request is within the limit; otherwise the nanoseconds until there is room.
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

    /// The hash of a text. It is seeded per process, so that nobody can choose values that collide with another
    /// caller's. It hashes bytes, because canonically equivalent texts are different callers.
    private static func hash(_ kind: Int, _ text: String) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        for byte in text.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}
