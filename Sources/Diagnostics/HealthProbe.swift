package import Cryptography
internal import Curl
internal import HTTPClient
package import Settings

/// Asks a running gateway for its health through its admin listener.
package struct HealthProbe: Sendable {
    /// The gateway's response.
    package struct Answer: Sendable, Equatable {
        package var isGood: Bool
        /// The response's text, or the error if there was no response.
        package var text: String
    }

    /// The verification of the gateway's identity.
    package enum Verification: Sendable {
        /// None: the listener uses plain text.
        case plainText
        /// The gateway must prove possession of the key of one of these certificate chains, in PEM. Names are not
        /// checked, because few certificates name a loopback address.
        case chains([[UInt8]])
        /// The gateway's certificate must name the address and be signed by one of these authorities; nil: by one of
        /// the system's.
        case authorities(TrustedCertificates?)
    }

    /// The client certificate and its key, in PEM.
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
    ///   - address: the address of the admin listener. A wildcard address is replaced by the loopback address.
    ///   - isAliveEnough: whether a gateway that is alive but not ready counts as healthy.
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

    /// The lines without control characters, which could move a terminal's cursor. Only printable ASCII is kept.
    private func printableLines(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { (" "..."~").contains($0) } }
        return lines.joined(separator: "\n")
    }
}
