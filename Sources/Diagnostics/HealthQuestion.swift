package import Cryptography
internal import Curl
internal import HTTPClient
package import Settings

/// Asks a running gateway whether it is well, by its admin listener.
package struct HealthQuestion: Sendable {
    /// The gateway's response.
    package struct Answer: Sendable, Equatable {
        package var isGood: Bool
        /// Its own words, or why there are none.
        package var text: String
    }

    /// How it is made sure that the gateway answers and nobody else.
    package enum Verification: Sendable {
        /// Not at all: the listener speaks plain text.
        case plainText
        /// It proves that it has the key of one of these certificate chains, in PEM. Their names do not count, since few
        /// certificates have the name of a loopback address.
        case chains([[UInt8]])
        /// Its certificate has the address's name, and was signed by one of these; nil: of the system's.
        case authorities(TrustedCertificates?)
    }

    /// The certificate that the gateway is shown, with its key, in PEM.
    package struct Identity: Sendable {
        var certificate: [UInt8]
        var key: Secret

        package init(certificate: [UInt8], key: Secret) {
            self.certificate = certificate
            self.key = key
        }
    }

    private let url: String
    private let access: CurlAccess
    private let isPlain: Bool
    private let isPinned: Bool
    private let timeout: Duration

    /// - Parameters:
    ///   - address: the admin listener's; one for every interface is asked on this machine.
    ///   - isAliveEnough: whether a gateway counts that runs and takes no traffic.
    package init(
        address: HostAndPort, _ verification: Verification, identity: Identity? = nil, isAliveEnough: Bool,
        timeout: Duration
    ) {
        let host =
            switch address.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: address.host
            }
        let authority = HostAndPort(host: host, port: address.port)
        var access: CurlAccess
        switch verification {
        case .plainText:
            access = CurlAccess()
            (isPlain, isPinned) = (true, false)
        case .chains(let chains):
            access = .byKeyAlone(chains.compactMap(PEMFile.publicKeyHash))
            (isPlain, isPinned) = (false, true)
        case .authorities(let authorities):
            access = CurlAccess(certificateAuthorities: authorities)
            (isPlain, isPinned) = (false, false)
        }
        (access.certificate, access.key) = (identity?.certificate, identity?.key)
        url = "\(isPlain ? "http" : "https")://\(authority)/\(isAliveEnough ? "healthz" : "readyz")"
        self.access = access
        self.timeout = timeout
    }

    package func ask() async throws -> Answer {
        try await FetchSession.with { session in
            let fetcher = try await session.fetcher(plain: isPlain, access: access)
            do throws(FetchError) {
                let response = try await fetcher.fetch(
                    FetchRequest(url: url, deadline: timeout, maximumResponseBytes: 64 << 10))
                let text = String(decoding: response.body, as: UTF8.self)
                return Answer(isGood: response.status == 200, text: printableLines(text))
            } catch {
                let expected = isPinned ? " (expected: a certificate of admin.tls)" : ""
                return Answer(isGood: false, text: "no response from \(url): \(error)\(expected)")
            }
        }
    }

    /// Without what moves a terminal's cursor.
    private func printableLines(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { (" "..."~").contains($0) } }
        return lines.joined(separator: "\n")
    }
}
