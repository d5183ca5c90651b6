package import Listener
internal import Pipeline
package import Settings
internal import SettingsReader

/// A certificate that a listener presents to its clients.
package struct ShownCertificate: Sendable, Equatable {
    /// The listener's address in the settings.
    var listener: String
    /// The key path of its file in the settings.
    var setting: String
    /// The certificate's DNS names, in lower case.
    var names: [String]
    /// The expiry time of the chain's certificate that expires first, in seconds since 1970.
    var expiresAt: Int64
    /// Whether the gateway obtained the certificate by ACME, and renews it.
    var isObtained = false

    /// Returns the certificates of all listeners.
    package static func all(_ listeners: [ListenSettings], _ certificates: [[ServedCertificate]]) -> [Self] {
        zip(listeners, certificates).flatMap { listener, certificates in
            // Obtained certificates come after those from files.
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

    /// The warning about its expiry; nil if that is far ahead. For a certificate that the gateway renews, only expiry
    /// is warned of.
    ///
    /// - Parameter now: seconds since 1970.
    package func warning(now: Int64) -> CertificateWarning? {
        expiresAt - now < (isObtained ? 0 : CertificateWarning.notice)
            ? CertificateWarning(certificate: self, now: now) : nil
    }
}

/// A warning that a certificate has expired or is about to expire.
package struct CertificateWarning: Sendable, CustomStringConvertible {
    /// The time in seconds before expiry at which warnings begin: long enough to find out why the certificate was not
    /// renewed.
    static let notice: Int64 = 14 * 86_400

    let certificate: ShownCertificate
    fileprivate let now: Int64

    package var listener: String { certificate.listener }
    package var names: [String] { certificate.names }
    package var expiresAt: Int64 { certificate.expiresAt }
    package var hasExpired: Bool { expiresAt <= now }

    package var description: String {
        // A certificate with only a common name is identified by its setting, because clients ignore the common name.
        let subject = "the certificate \(names.first.map { "of \($0)" } ?? certificate.setting) on \(listener)"
        let time = Self.spoken(abs(expiresAt - now))
        return hasExpired ? "\(subject) expired \(time) ago: clients refuse it" : "\(subject) expires in \(time)"
    }

    private static func spoken(_ seconds: Int64) -> String {
        let (count, unit) = seconds >= 86_400 ? (seconds / 86_400, "day") : (seconds / 3600, "hour")
        return count == 0 ? "less than an hour" : "\(count) \(unit)\(count == 1 ? "" : "s")"
    }
}
