/// The clock by which records expire. The time of day can be wrong temporarily; records removed by it could not be
/// restored.
package protocol RecordClock: Sendable {
    /// The time up to which expired rows may be removed.
    ///
    /// - Parameter now: the time of day, in seconds since 1970, here and below.
    func pruningTime(_ now: Int64) -> Int64

    /// The trusted time of day: see ``PruningClock/believed(_:)``.
    func believedTime(_ now: Int64) -> Int64

    /// The clock by which tokens are revoked: see ``PruningClock/latest(_:)``.
    func latestTime(_ now: Int64) -> Int64

    /// Stores the clock's reading for the next process. A later stored reading is kept.
    func keepPruningClock(now: Int64) async throws

    /// The time of day by the clock common to all processes that share the records, since each reads the others' times.
    /// Without a common clock, as with one process, it is the time of day itself.
    func sharedTime(_ now: Int64) -> Int64

    /// As ``sharedTime(_:)``, in milliseconds since 1970.
    func sharedMilliseconds(_ now: Int64) -> Int64
}

extension RecordClock {
    package func sharedTime(_ now: Int64) -> Int64 { now }
    package func sharedMilliseconds(_ now: Int64) -> Int64 { now }
}
