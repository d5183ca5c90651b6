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

    private let url: String
    private let timeout: Duration

    /// - Parameters:
    ///   - address: the admin listener's; one for every interface is asked on this machine.
    ///   - isAliveEnough: whether a gateway counts that runs and takes no traffic.
    package init(address: HostAndPort, isAliveEnough: Bool, timeout: Duration) {
        let host =
            switch address.host {
            case "0.0.0.0": "127.0.0.1"
            case "::": "::1"
            default: address.host
            }
        let authority = HostAndPort(host: host, port: address.port)
        url = "http://\(authority)/\(isAliveEnough ? "healthz" : "readyz")"
        self.timeout = timeout
    }

    package func ask() async throws -> Answer {
        try await FetchSession.with { session in
            let fetcher = try await session.fetcher(plain: true)
            do throws(FetchError) {
                let response = try await fetcher.fetch(
                    FetchRequest(url: url, deadline: timeout, maximumResponseBytes: 64 << 10))
                let text = String(decoding: response.body, as: UTF8.self)
                return Answer(isGood: response.status == 200, text: printableLines(text))
            } catch {
                return Answer(isGood: false, text: "no response from \(url): \(error)")
            }
        }
    }

    /// Without what moves a terminal's cursor.
    private func printableLines(_ text: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { (" "..."~").contains($0) } }
        return lines.joined(separator: "\n")
    }
}
