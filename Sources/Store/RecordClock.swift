/// The clock by which records end. The time of day can be wrong for a while; what it had removed could not be brought
/// back.
package protocol RecordClock: Sendable {
    /// The time by which ended rows may be removed.
    ///
    /// - Parameter now: the time of day, in seconds since 1970, here and below.
    func pruningTime(_ now: Int64) -> Int64

    /// The time of day as far as it is believed: see ``PruningClock/believed(_:)``.
    func believedTime(_ now: Int64) -> Int64

    /// The time by which tokens are revoked: see ``PruningClock/latest(_:)``.
    func latestTime(_ now: Int64) -> Int64

    /// Keeps how far the clock is, for the next process. One that is further already stays so.
    func keepPruningClock(now: Int64) async throws

    /// The time of day by the clock of all processes that share the records: what one of them writes the others read.
    /// Where there is no such clock, as with one process, it is the time of day itself.
    func sharedTime(_ now: Int64) -> Int64

    /// As ``sharedTime(_:)``, in milliseconds since 1970.
    func sharedMilliseconds(_ now: Int64) -> Int64
}

extension RecordClock {
    package func sharedTime(_ now: Int64) -> Int64 { now }
    package func sharedMilliseconds(_ now: Int64) -> Int64 { now }
}
