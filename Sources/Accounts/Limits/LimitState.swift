internal import Encoding
internal import Pipeline
internal import Store

/// One limit that applies to a call, with the key that counts it.
struct CountedLimit {
    var cause: LimitCause
    var key: String
    var limit: RateLimit

    init(_ cause: LimitCause, _ key: String, _ limit: RateLimit) {
        self.cause = cause
        self.key = key
        self.limit = limit
    }
}

/// The limits' state in memory. Times are milliseconds since 1970 unless they say otherwise.
struct LimitState: Sendable {
    var settings: AccountLimitSettings
    /// The number of gateways that share the records, as of the last call.
    var gateways = 1
    private var counts: ExpiringTable<SlidingCount>
    private var failures: ExpiringTable<Failures>
    /// The accounts of names, each as the key that counts its failures.
    private var aliases: ExpiringTable<String>
    /// The time at which somebody last proved to be the user of a name.
    private var proofs: ExpiringTable<Int64>
    /// The number of devices of each account that became known recently.
    private var newDevices: ExpiringTable<SlidingCount>
    /// The counts since the last write.
    private var unwritten: [Unwritten: CountRecord] = [:]
    private(set) var refused: [LimitCause: Int] = [:]

    private struct Unwritten: Hashable {
        @Exact var key: String
        var window: Int64
    }

    init(_ settings: AccountLimitSettings) {
        self.settings = settings
        counts = ExpiringTable(capacity: settings.maximumKeys)
        failures = ExpiringTable(capacity: settings.maximumKeys)
        aliases = ExpiringTable(capacity: settings.maximumKeys)
        proofs = ExpiringTable(capacity: settings.maximumKeys)
        newDevices = ExpiringTable(capacity: settings.maximumKeys)
    }

    // MARK: Calls

    /// Counts a call or, if it is refused, returns the reason and counts nothing.
    ///
    /// - Parameter accounts: further keys under which a failure is counted. They do not affect whether the call is
    ///   admitted.
    mutating func admit(
        _ counted: [CountedLimit], failures keys: [String], accounts: [String] = [], at now: Int64
    ) -> LimitReached? {
        if let reached = refuse(counted, failures: keys, at: now) { return reached }
        for each in counted { count(each, at: now) }
        for key in keys + accounts { begin(key, at: now) }
        return nil
    }

    /// Returns the reason to refuse a call, without counting the call; nil if there is none.
    mutating func refuse(_ counted: [CountedLimit], failures keys: [String] = [], at now: Int64) -> LimitReached? {
        guard let reached = check(counted, failures: keys, at: now) else { return nil }
        refused[reached.cause, default: 0] += 1
        return reached
    }

    /// Returns the limit with the longest wait; nil if none refuses the call.
    private mutating func check(_ counted: [CountedLimit], failures keys: [String], at now: Int64) -> LimitReached? {
        var longest: (cause: LimitCause, wait: Int64)?
        func note(_ cause: LimitCause, _ wait: Int64) {
            if wait > longest?.wait ?? 0 { longest = (cause, wait) }
        }
        for each in counted {
            guard let known = count(of: each, at: now) else { continue }
            note(each.cause, known.wait(each.limit, at: now))
        }
        for key in keys {
            guard let policy = settings.lockout, let known = failures(of: key, at: now) else { continue }
            note(.lockout, known.wait(policy, gateways: gateways, at: now))
        }
        return longest.map { LimitReached(cause: $0.cause, retryAfter: Int(($0.wait + 999) / 1000)) }
    }

    /// Returns the count in the current window. If the clock has been set back, the window is adjusted even if the call
    /// counts nothing, so that a wait does not start again with each call.
    private mutating func count(of counted: CountedLimit, at now: Int64) -> SlidingCount? {
        guard var known = counts.value(of: counted.key, at: now / 1000) else { return nil }
        let window = known.window
        known.advance(counted.limit, to: now)
        if known.window < window {
            counts.set(known, of: counted.key, endsAt: known.endsAt(counted.limit), at: now / 1000)
        }
        return known
    }

    private mutating func count(_ counted: CountedLimit, at now: Int64) {
        let before = counts.value(of: counted.key, at: now / 1000)?.window
        var known = count(of: counted, at: now) ?? SlidingCount(counted.limit, at: now)
        known.count()
        let endsAt = known.endsAt(counted.limit)
        counts.set(known, of: counted.key, endsAt: endsAt, at: now / 1000)
        // While the store cannot be written to, the pending counts are also bounded.
        guard unwritten.count < settings.maximumKeys else { return }
        // The first call of a window also requests the total of the previous one, to which other gateways may have
        // added.
        if before != known.window { ask(counted.key, window: known.window - 1, endsAt: endsAt) }
        unwritten[
            Unwritten(key: counted.key, window: known.window),
            default: CountRecord(key: counted.key, window: known.window, count: 0, endsAt: endsAt)
        ].count += 1
    }

    private mutating func ask(_ key: String, window: Int64, endsAt: Int64) {
        let number = Unwritten(key: key, window: window)
        guard unwritten[number] == nil else { return }
        unwritten[number] = CountRecord(key: key, window: window, count: 0, endsAt: endsAt)
    }

    // MARK: Failures

    /// Returns the failures of a key. A failure in the future was counted before the clock was set back, and is treated
    /// as one of now.
    private mutating func failures(of key: String, at now: Int64) -> Failures? {
        guard var known = failures.value(of: key, at: now / 1000) else { return nil }
        guard known.lastAt > now else { return known }
        known.lastAt = now
        let endsAt = settings.lockout.map { now / 1000 + $0.forgetAfter } ?? failures.endsAt(of: key) ?? now / 1000
        failures.set(known, of: key, endsAt: endsAt, at: now / 1000)
        return known
    }

    mutating func hasFailures(_ key: String, at now: Int64) -> Bool { (failures(of: key, at: now)?.count ?? 0) > 0 }

    /// Ends an admitted attempt without a failure.
    mutating func settle(_ key: String, at now: Int64) {
        guard let policy = settings.lockout, var known = failures(of: key, at: now) else { return }
        known.pending = max(0, known.pending - 1)
        guard known.count > 0 || known.pending > 0 || known.epoch > 0 else { return failures.remove(key) }
        // An attempt that proves nothing does not extend the time until earlier failures are forgotten.
        let since = known.count > 0 ? known.lastAt : now
        failures.set(known, of: key, endsAt: since / 1000 + policy.forgetAfter, at: now / 1000)
    }

    /// Counts the failure of an admitted attempt.
    ///
    /// - Returns: the time at which it is forgotten, in seconds since 1970, and whether there is a lock; nil if locks
    ///   are disabled.
    mutating func fail(_ key: String, at now: Int64) -> (endsAt: Int64, isLocked: Bool)? {
        guard let policy = settings.lockout else { return nil }
        var known = failures(of: key, at: now) ?? Failures()
        known.pending = max(0, known.pending - 1)
        known.count += 1
        known.lastAt = max(known.lastAt, now)
        let endsAt = now / 1000 + policy.forgetAfter
        failures.set(known, of: key, endsAt: endsAt, at: now / 1000)
        return (endsAt, policy.lock(afterFailures: known.count) > 0)
    }

    /// - Returns: whether there was a failure.
    mutating func forget(_ key: String, at now: Int64) -> Bool {
        defer { failures.remove(key) }
        return (failures(of: key, at: now)?.count ?? 0) > 0
    }

    /// Begins an attempt, which may fail.
    private mutating func begin(_ key: String, at now: Int64) {
        guard let policy = settings.lockout else { return }
        var known = failures(of: key, at: now) ?? Failures()
        known.pending += 1
        failures.set(known, of: key, endsAt: now / 1000 + policy.forgetAfter, at: now / 1000)
    }

    // MARK: Accounts of several names

    enum AccountTrial {
        /// It may be tried; the key counts its failures. `isCleared`: a proof has reset its failures, which must also
        /// be stored.
        case open(String, isCleared: Bool)
        case locked(LimitReached)
        /// It is counted already, or locks are disabled.
        case unknown
    }

    mutating func note(alias typed: String, of key: String, endsAt: Int64, at now: Int64) {
        guard settings.lockout != nil, typed != key else { return }
        aliases.set(key, of: typed, endsAt: endsAt, at: now / 1000)
    }

    /// Returns the key that counts the failures of the account behind a name; nil if the account is unknown.
    func account(calledBy typed: String, at now: Int64) -> String? { aliases.value(of: typed, at: now / 1000) }

    /// Begins an attempt at an account, unless it is locked.
    ///
    /// - Parameters:
    ///   - key: the key that counts the account's failures.
    ///   - typed: the key of the name in the call.
    ///   - known: the keys that are counted already.
    mutating func tryAccount(_ key: String, calledBy typed: String, known: [String], at now: Int64) -> AccountTrial {
        guard let policy = settings.lockout, !known.contains(key) else { return .unknown }
        var isCleared = false
        if let failures = failures(of: key, at: now) {
            if let proof = proofs.value(of: typed, at: now / 1000), proof >= failures.lastAt {
                // The proof was given before the account of the name was known.
                isCleared = forget(key, at: now)
            } else if case let wait = failures.wait(policy, gateways: gateways, at: now), wait > 0 {
                refused[.lockout, default: 0] += 1
                return .locked(LimitReached(cause: .lockout, retryAfter: Int((wait + 999) / 1000)))
            }
        }
        begin(key, at: now)
        return .open(key, isCleared: isCleared)
    }

    /// Resets the failures of a name's account after a proof by its user.
    ///
    /// - Returns: the keys that were reset.
    mutating func forgetAll(calledBy typed: String, at now: Int64) -> [String] {
        guard let policy = settings.lockout else { return [] }
        proofs.set(now, of: typed, endsAt: now / 1000 + policy.forgetAfter, at: now / 1000)
        let keys = [typed] + [aliases.value(of: typed, at: now / 1000)].compactMap { $0 }
        for key in keys { _ = forget(key, at: now) }
        return keys
    }

    // MARK: Known devices

    /// The number of devices of an account that become known: otherwise one user's devices could displace those of all
    /// others in the store.
    private static let newDevicesLimit = RateLimit(20, per: 86_400)

    /// Counts a new device; returns false if the limit is reached.
    mutating func takesDevice(_ key: String, at now: Int64) -> Bool {
        let limit = Self.newDevicesLimit
        var known = newDevices.value(of: key, at: now / 1000) ?? SlidingCount(limit, at: now)
        known.advance(limit, to: now)
        let isTaken = known.wait(limit, at: now) == 0
        if isTaken { known.count() }
        newDevices.set(known, of: key, endsAt: known.endsAt(limit), at: now / 1000)
        return isTaken
    }

    // MARK: The store

    /// Takes over failures to which other gateways may have added.
    ///
    /// - Returns: whether there is a lock.
    mutating func adopt(_ record: FailureRecord, at now: Int64) -> Bool {
        guard let policy = settings.lockout else { return false }
        var known = failures(of: record.key, at: now) ?? Failures()
        // A record in the future is by a clock that has since been set back.
        let lastAt = min(record.lastAt, now)
        if record.epoch > known.epoch {
            // Another gateway has reset the failures: earlier ones no longer count here.
            (known.count, known.lastAt, known.epoch) = (record.count, lastAt, record.epoch)
        } else if record.count > known.count, record.epoch == known.epoch || record.lastAt > known.epoch {
            known.count = record.count
            known.lastAt = max(known.lastAt, lastAt)
        } else {
            // Nothing new, or it was read before the reset that is known here.
            return known.wait(policy, at: now) > 0
        }
        let endsAt = min(record.endsAt, now / 1000 + policy.forgetAfter)
        failures.set(known, of: record.key, endsAt: endsAt, at: now / 1000)
        return known.wait(policy, at: now) > 0
    }

    /// Takes over a count to which other gateways may have added.
    mutating func adopt(_ record: CountRecord, total: Int64, at now: Int64) {
        var known =
            counts.value(of: record.key, at: now / 1000)
            ?? SlidingCount(window: record.window, current: 0)
        // The total does not contain the calls counted here since the write.
        let since = unwritten[Unwritten(key: record.key, window: record.window)]?.count ?? 0
        known.adopt(total: total + since, ofWindow: record.window)
        let endsAt = max(record.endsAt, counts.endsAt(of: record.key) ?? 0)
        counts.set(known, of: record.key, endsAt: endsAt, at: now / 1000)
    }

    mutating func takeUnwritten() -> [CountRecord] {
        defer { unwritten = [:] }
        return Array(unwritten.values)
    }

    /// Restores counts that could not be written, for the next write, unless they have expired or there is no room.
    mutating func putBack(_ records: some Sequence<CountRecord>, at now: Int64) {
        for record in records where record.endsAt > now / 1000 {
            let number = Unwritten(key: record.key, window: record.window)
            if let known = unwritten[number] {
                unwritten[number]?.count = known.count + record.count
            } else if unwritten.count < settings.maximumKeys {
                unwritten[number] = record
            }
        }
    }
}
