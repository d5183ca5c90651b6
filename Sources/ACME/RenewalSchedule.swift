internal import Cryptography
internal import Encoding

/// The schedule of certificate orders.
enum RenewalSchedule {
    /// The minimum number of seconds between two certificates of a name, regardless of their validity.
    private static let shortestUse: Int64 = 10
    /// The minimum number of seconds that a certificate is used before one from another directory replaces it. During a
    /// rollout, gateways with different directories may share the certificates.
    private static let shortestUseOfOtherDirectory: Int64 = 300
    /// The number of seconds by which the clocks of gateways that share certificates may differ.
    private static let clockTolerance: Int64 = 300

    /// The time of the next attempt, in seconds since 1970: at once if there is no certificate, soon if it is from
    /// another directory, otherwise after two thirds of its lifetime. The wait after a failure always applies, unless
    /// the clock was ahead when it was stored.
    ///
    /// - Parameter directory: the URL of the directory in use.
    static func dueAt(
        _ name: String, _ certificate: ObtainedCertificate?, _ failure: ACMEState.Failure?, directory: String,
        now: Int64
    ) -> Int64 {
        let waitEnds = failure.map { isAhead($0.storedAt, of: now) ? Int64.min : $0.nextAt } ?? .min
        return max(certificate.map { renewalAt(name, $0, directory, now) } ?? .min, waitEnds)
    }

    /// Whether a stored time lies so far in the future that the clock must have been ahead then.
    private static func isAhead(_ time: Int64, of now: Int64) -> Bool { time - clockTolerance > now }

    /// A certificate's lifetime counts from when it was obtained, since the directory may have created it earlier.
    ///
    /// Each renewal time is shifted by up to 5 % of the lifetime, so that certificates obtained together are not always
    /// renewed together.
    private static func renewalAt(
        _ name: String, _ certificate: ObtainedCertificate, _ directory: String, _ now: Int64
    ) -> Int64 {
        let read = ServerCertificate(chain: certificate.chain, for: name)
        let obtainedAt = isAhead(certificate.obtainedAt, of: now) ? read?.notBefore ?? 0 : certificate.obtainedAt
        guard certificate.directory.hasSameBytes(as: directory) else {
            return obtainedAt + shortestUseOfOtherDirectory
        }
        guard let read else { return obtainedAt + shortestUse }
        let begin = max(read.notBefore, obtainedAt)
        let life = max(0, read.notAfter - begin)
        let digest = SHA256.hash(certificate.chain)
        let fraction = Int64(digest[0]) << 8 | Int64(digest[1])
        return max(begin + life / 3 * 2 + life / 20 * fraction / 0x1_0000, obtainedAt + shortestUse)
    }

    /// The names that are due, in the order of attempts: the fewest failures first, then the longest time since an
    /// attempt. A name that always fails comes last and delays no other.
    static func due(_ names: [String], in state: ACMEState, directory: String, now: Int64) -> [String] {
        let due = names.filter { name in
            dueAt(name, state.certificate(of: name), state.failure(of: name), directory: directory, now: now) <= now
        }
        return due.sorted { one, other in
            let (first, second) = (state.failure(of: one), state.failure(of: other))
            let (count, otherCount) = (first?.count ?? 0, second?.count ?? 0)
            return count == otherCount ? (first?.lastAt ?? 0) < (second?.lastAt ?? 0) : count < otherCount
        }
    }

    // MARK: After a failure

    /// Returns the failures to store after a failed attempt.
    ///
    /// - Parameters:
    ///   - name: the name whose order failed.
    ///   - due: the names whose attempts are due.
    ///   - isOfAccount: whether the directory or the account failed before any order: no name can then have a
    ///     certificate, and all wait alike. Otherwise other names that may fail too only wait for a while, since the
    ///     failed name may be the cause.
    static func failures(
        after error: ACMEError, of name: String, among due: [String], in state: ACMEState, isOfAccount: Bool,
        at time: Int64
    ) -> [ACMEState.Failure] {
        let others = due.filter { !$0.hasSameBytes(as: name) }
        var own = failed(name, error, in: state, at: time)
        if isOfAccount { return [own] + others.map { failed($0, error, in: state, at: time) } }
        guard concernsAll(error) else { return [own] }
        let count = others.reduce(own.count) { $0 + min(state.failure(of: $1)?.count ?? 0, 16) }
        let nextAt = time + waitOfOthers(after: error, count: count)
        own.nextAt = max(own.nextAt, nextAt)
        return [own]
            + others.map { other in
                let before = state.failure(of: other)
                return ACMEState.Failure(
                    name: other, count: before?.count ?? 0, nextAt: nextAt, lastAt: before?.lastAt ?? 0,
                    since: min(before?.since ?? time, time), storedAt: time, error: "\(error)")
            }
    }

    private static func failed(
        _ name: String, _ error: ACMEError, in state: ACMEState, at time: Int64
    ) -> ACMEState.Failure {
        let before = state.failure(of: name)
        let count = min(before?.count ?? 0, 1_000_000) + 1
        return ACMEState.Failure(
            name: name, count: count, nextAt: time + wait(after: error, count: count), lastAt: time,
            since: min(before?.since ?? time, time), storedAt: time, error: "\(error)")
    }

    /// Whether the cause of a failure may be something other than the name, so that other names would fail too.
    static func concernsAll(_ error: ACMEError) -> Bool {
        switch error {
        case .unreachable, .rateLimited, .notDelivered, .foreignURL: true
        case .refused(let problem): problemsOfAccount.contains { problem.isOf($0) }
        case .malformed(_, let isOfAll): isOfAll
        case .notValidated, .tookTooLong, .cryptography, .leaseLost: false
        }
    }

    /// RFC 8555, 6.7.
    private static let problemsOfAccount = [
        "accountDoesNotExist", "externalAccountRequired", "unauthorized", "userActionRequired",
    ]

    /// Whether the directory does not know the account any more; the next attempt creates a new one.
    static func endsAccount(_ error: ACMEError) -> Bool {
        if case .refused(let problem) = error { problem.isOf("accountDoesNotExist") } else { false }
    }

    /// The number of seconds to wait after `count` consecutive failures.
    ///
    /// Let's Encrypt allows five failed validations of a name an hour.
    static func wait(after error: ACMEError, count: Int64) -> Int64 {
        let doublings = min(max(count - 1, 0), 16)
        return switch error {
        case .unreachable(_, let retryAfter): max(asked(retryAfter), min(10 << doublings, 1800))
        case .rateLimited(_, let retryAfter): max(asked(retryAfter), min(3600 << doublings, 43_200))
        case .refused where endsAccount(error) && count == 1: 0
        case .notDelivered(_, let retryAfter): max(asked(retryAfter), min(300 << doublings, 43_200))
        case .refused, .notValidated, .malformed, .foreignURL, .tookTooLong, .cryptography, .leaseLost:
            min(300 << doublings, 43_200)
        }
    }

    /// The number of seconds that other names wait after a failure. A delay requested by the directory applies only to
    /// the failed name.
    ///
    /// - Parameter count: the failures of all due names together, so that each round waits longer.
    private static func waitOfOthers(after error: ACMEError, count: Int64) -> Int64 {
        let own: ACMEError =
            switch error {
            case .unreachable(let reason, _): .unreachable(reason)
            case .rateLimited(let problem, _): .rateLimited(problem, retryAfter: nil)
            case .notDelivered(let reason, _): .notDelivered(reason)
            default: error
            }
        return min(wait(after: own, count: count), 3600)
    }

    /// The number of seconds without orders after `count` consecutive failures of the storage.
    static func pause(afterStorageFailures count: Int64) -> Int64 {
        min(10 << min(max(count - 1, 0), 16), longestPause)
    }

    private static let longestPause: Int64 = 1800

    /// When a pause ends; 0 for one that began while the clock was ahead.
    static func pauseEnds(_ end: Int64, now: Int64) -> Int64 { end - now > longestPause ? 0 : end }

    /// The delay requested by the directory, limited to a week.
    private static func asked(_ seconds: Int64?) -> Int64 { min(max(seconds ?? 0, 0), 604_800) }
}
