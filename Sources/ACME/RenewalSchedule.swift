internal import Cryptography
internal import Encoding

/// When certificates are ordered.
enum RenewalSchedule {
    /// The time of the next attempt, in seconds since 1970: at once where there is no certificate, else when two thirds
    /// of its life are over, and never before the wait after a failure has ended.
    static func dueAt(_ name: String, _ certificate: ObtainedCertificate?, _ failure: ACMEState.Failure?) -> Int64 {
        max(renewalAt(name, certificate), failure?.nextAt ?? .min)
    }

    /// Each certificate has a time of its own within 5 % of its life, so that those obtained together are not renewed
    /// together for ever.
    private static func renewalAt(_ name: String, _ certificate: ObtainedCertificate?) -> Int64 {
        guard let certificate, let read = ServerCertificate(chain: certificate.chain, for: name) else { return .min }
        let life = max(0, read.notAfter - read.notBefore)
        let digest = SHA256.hash(certificate.chain)
        let fraction = Int64(digest[0]) << 8 | Int64(digest[1])
        return read.notBefore + life / 3 * 2 + life / 20 * fraction / 0x1_0000
    }

    /// Whether a failure is none of the name's: other names would fail with it.
    static func concernsAll(_ error: ACMEError) -> Bool {
        switch error {
        case .unreachable, .rateLimited, .foreignURL: true
        case .refused(let problem): problem.isOf("accountDoesNotExist") || problem.isOf("unauthorized")
        case .notValidated, .malformed, .tookTooLong, .cryptography, .leaseLost: false
        }
    }

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
        case .refused, .notValidated, .malformed, .foreignURL, .tookTooLong, .cryptography, .leaseLost:
            min(300 << doublings, 43_200)
        }
    }

    /// For how many seconds nothing is ordered after so many failures of the storage in a row.
    static func pause(afterStorageFailures count: Int64) -> Int64 { min(10 << min(max(count - 1, 0), 16), 1800) }

    /// A directory may ask for up to a week.
    private static func asked(_ seconds: Int64?) -> Int64 { min(max(seconds ?? 0, 0), 604_800) }
}
