internal import Locking
package import Store

/// Stores records with the time of day, for limits that use a steady clock.
///
/// The steady clock begins with the time of day at the start of the process, which may have been wrong. The next
/// process must find times at which its locks end as they should.
package struct TimeOfDayLimits: LimitRecords {
    private let records: any LimitRecords
    private let offset: ClockOffset

    package var areShared: Bool { records.areShared }

    /// - Parameters:
    ///   - steady: the limits' clock, in milliseconds since 1970.
    ///   - timeOfDay: in milliseconds since 1970.
    package init(
        _ records: any LimitRecords, steady: @escaping @Sendable () -> Int64,
        timeOfDay: @escaping @Sendable () -> Int64
    ) {
        self.records = records
        offset = ClockOffset(steady: steady, timeOfDay: timeOfDay)
    }

    package func add(_ counts: [CountRecord]) async throws -> [Int64] {
        let offset = offset.milliseconds
        return try await records.add(counts.map { $0.moved(by: offset) })
    }

    package func addFailures(
        of keys: [String], at milliseconds: Int64, endsAt: Int64
    ) async throws -> [FailureRecord] {
        let offset = offset.milliseconds
        return try await records.addFailures(of: keys, at: milliseconds + offset, endsAt: endsAt + offset / 1000)
            .map { $0.moved(by: -offset) }
    }

    package func resetFailures(of key: String, at milliseconds: Int64, endsAt: Int64) async throws -> FailureRecord {
        let offset = offset.milliseconds
        return try await records.resetFailures(of: key, at: milliseconds + offset, endsAt: endsAt + offset / 1000)
            .moved(by: -offset)
    }

    package func remember(device key: String, endsAt: Int64) async throws {
        try await records.remember(device: key, endsAt: endsAt + offset.milliseconds / 1000)
    }

    package func remember(account: String, of name: String, endsAt: Int64) async throws {
        try await records.remember(account: account, of: name, endsAt: endsAt + offset.milliseconds / 1000)
    }

    package func standing(ofDevice device: String?, failures keys: [String], now: Int64) async throws -> LimitStanding {
        try await standing(ofDevice: device, failures: keys, name: nil, now: now)
    }

    package func standing(
        ofDevice device: String?, failures keys: [String], name: String?, now: Int64
    ) async throws -> LimitStanding {
        let offset = offset.milliseconds
        var standing = try await records.standing(
            ofDevice: device, failures: keys, name: name, now: now + offset / 1000)
        standing.failures = standing.failures.map { $0.moved(by: -offset) }
        return standing
    }

    package func counts(now: Int64, limit: Int) async throws -> [CountRecord] {
        let offset = offset.milliseconds
        return try await records.counts(now: now + offset / 1000, limit: limit).map { $0.moved(by: -offset) }
    }

    package func failures(now: Int64, limit: Int) async throws -> [FailureRecord] {
        let offset = offset.milliseconds
        return try await records.failures(now: now + offset / 1000, limit: limit).map { $0.moved(by: -offset) }
    }

    package func removeEnded(now: Int64, limit: Int) async throws {
        try await records.removeEnded(now: now + offset.milliseconds / 1000, limit: limit)
    }
}

/// The difference between the time of day and a steady clock.
private final class ClockOffset: Sendable {
    /// Smaller differences are ignored, so that times stay comparable while the clock is right.
    private static let tolerance: Int64 = 1000

    private let steady: @Sendable () -> Int64
    private let timeOfDay: @Sendable () -> Int64
    private let known = Locked<Int64>(0)

    init(steady: @escaping @Sendable () -> Int64, timeOfDay: @escaping @Sendable () -> Int64) {
        self.steady = steady
        self.timeOfDay = timeOfDay
    }

    var milliseconds: Int64 {
        let difference = timeOfDay() - steady()
        return known.withLock { known in
            if abs(difference - known) > Self.tolerance { known = difference }
            return known
        }
    }
}

extension CountRecord {
    /// Moves the expiry. The window does not change: its number is by the limits' clock.
    fileprivate func moved(by milliseconds: Int64) -> CountRecord {
        CountRecord(key: key, window: window, count: count, endsAt: endsAt + milliseconds / 1000)
    }
}

extension FailureRecord {
    fileprivate func moved(by milliseconds: Int64) -> FailureRecord {
        FailureRecord(
            key: key, count: count, lastAt: lastAt + milliseconds, endsAt: endsAt + milliseconds / 1000,
            epoch: epoch == 0 ? 0 : epoch + milliseconds)
    }
}
