package import Listener
internal import Pipeline
package import Settings
internal import SettingsReader

/// A certificate that a listener shows its clients.
package struct ShownCertificate: Sendable, Equatable {
    /// The listener's address in the settings.
    var listener: String
    /// The key path of its file in the settings.
    var setting: String
    /// The DNS names that it is for, in lower case.
    var names: [String]
    /// Seconds since 1970; of the chain's certificate that ends first.
    var expiresAt: Int64
    /// Whether the gateway obtained it, and renews it.
    var isObtained = false

    /// Of listeners, each with what it shows.
    package static func all(_ listeners: [ListenSettings], _ certificates: [[ServedCertificate]]) -> [Self] {
        zip(listeners, certificates).flatMap { listener, certificates in
            // Those that were obtained come after those of files.
            let files = (listener.tls?.certificates ?? []).map(\.chainPlace.keyPath)
            return certificates.enumerated().map { index, certificate in
                let isObtained = index >= files.count
                return Self(
                    listener: "\(listener.address)",
                    setting: isObtained ? listener.tls?.namesPlace.keyPath ?? "" : files[index],
                    names: certificate.names, expiresAt: certificate.expiresAt, isObtained: isObtained)
            }
        }
    }

    /// The warning about its end; nil while that is far, and for one that the gateway is about to renew.
    ///
    /// - Parameter now: seconds since 1970.
    package func warning(now: Int64) -> CertificateWarning? {
        expiresAt - now < (isObtained ? 0 : CertificateWarning.notice)
            ? CertificateWarning(certificate: self, now: now) : nil
    }
}

/// That a certificate has expired, or is about to.
package struct CertificateWarning: Sendable, CustomStringConvertible {
    /// So many seconds before its end a certificate is warned of: time enough to find out why it was not renewed.
    static let notice: Int64 = 14 * 86_400

    let certificate: ShownCertificate
    fileprivate let now: Int64

    package var listener: String { certificate.listener }
    package var names: [String] { certificate.names }
    package var expiresAt: Int64 { certificate.expiresAt }
    package var hasExpired: Bool { expiresAt <= now }

    package var description: String {
        // One with no name but its common name is told by where it comes from: no client takes it for that name.
        let subject = "the certificate \(names.first.map { "of \($0)" } ?? certificate.setting) on \(listener)"
        let time = Self.spoken(abs(expiresAt - now))
        return hasExpired ? "\(subject) expired \(time) ago: clients refuse it" : "\(subject) expires in \(time)"
    }

    private static func spoken(_ seconds: Int64) -> String {
        let (count, unit) = seconds >= 86_400 ? (seconds / 86_400, "day") : (seconds / 3600, "hour")
        return count == 0 ? "less than an hour" : "\(count) \(unit)\(count == 1 ? "" : "s")"
    }
}
