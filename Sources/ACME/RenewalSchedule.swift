internal import Cryptography
internal import Encoding

/// When certificates are ordered.
enum RenewalSchedule {
    /// Between two certificates of a name, in seconds, whatever the certificate says.
    private static let shortestUse: Int64 = 10
    /// How long a certificate is used at least before another directory's takes its place, in seconds. While a
    /// configuration is rolled out, gateways with different directories may share the certificates.
    private static let shortestUseOfOtherDirectory: Int64 = 300
    /// By how many seconds the clocks of gateways that share certificates may differ.
    private static let clockTolerance: Int64 = 300

    /// The time of the next attempt, in seconds since 1970: at once where there is no certificate, soon where it is
    /// from another directory, else when two thirds of its life are over. The wait after a failure always holds, unless
    /// the clock was ahead when it was stored.
    ///
    /// - Parameter directory: the URL of the one that is used.
    static func dueAt(
        _ name: String, _ certificate: ObtainedCertificate?, _ failure: ACMEState.Failure?, directory: String,
        now: Int64
    ) -> Int64 {
        let waitEnds = failure.map { isAhead($0.storedAt, of: now) ? Int64.min : $0.nextAt } ?? .min
        return max(certificate.map { renewalAt(name, $0, directory, now) } ?? .min, waitEnds)
    }

    /// Whether a stored time lies so far in the future that the clock must have been ahead then.
    private static func isAhead(_ time: Int64, of now: Int64) -> Bool { time - clockTolerance > now }

    /// A certificate's life counts from when it was obtained, because the directory may have made it earlier.
    ///
    /// Each has a time of its own within 5 % of its life, so that those obtained together are not renewed together for
    /// ever.
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

    /// The names whose next attempt is due, in the order of their turns: the fewest failures first, then the longest
    /// time since an attempt. A name that fails each time comes last, where it keeps no other from its turn.
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

    /// The failures to store after one.
    ///
    /// - Parameters:
    ///   - name: the name whose order failed.
    ///   - due: the names whose attempts are due.
    ///   - isOfAccount: whether the directory or the account failed before any order: no name can have a certificate
    ///     then, and all wait alike. Else others that may fail too only wait for a while, because the name may be to
    ///     blame after all.
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

    /// Whether a failure may be none of the name's, so that other names would fail with it.
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

    /// Whether the directory does not know the account any more: the next attempt makes one.
    static func endsAccount(_ error: ACMEError) -> Bool {
        if case .refused(let problem) = error { problem.isOf("accountDoesNotExist") } else { false }
    }

    /// How many seconds to wait after so many failures in a row.
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

    /// How many seconds names wait after another one's failure. The time that the directory asks for is for that one.
    ///
    /// - Parameter count: the failures of all names that are due, so that each round waits for longer.
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

    /// For how many seconds nothing is ordered after so many failures of the storage in a row.
    static func pause(afterStorageFailures count: Int64) -> Int64 {
        min(10 << min(max(count - 1, 0), 16), longestPause)
    }

    private static let longestPause: Int64 = 1800

    /// When a pause ends; 0 for one that began while the clock was ahead.
    static func pauseEnds(_ end: Int64, now: Int64) -> Int64 { end - now > longestPause ? 0 : end }

    /// A directory may ask for up to a week.
    private static func asked(_ seconds: Int64?) -> Int64 { min(max(seconds ?? 0, 0), 604_800) }
}
