internal import Locking
package import Logging
internal import Telemetry

/// Logs each of the gateway's own calls at level `debug` with its destination and outcome, but no content and no path,
/// which may be secret. The call's duration is added to the client's request that caused it.
package struct LoggedFetcher: Fetcher {
    private let fetcher: any Fetcher
    private let logger: Logger

    package init(_ fetcher: any Fetcher, _ logger: Logger) {
        self.fetcher = fetcher
        self.logger = logger
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let began = ContinuousClock.now
        let work = WorkInProgress.begin("request", request.summary)
        defer { WorkInProgress.end(work) }
        defer { CalledRequest.current?.waited(ContinuousClock.now - began) }
        guard logger.logLevel <= .debug else { return try await fetcher.fetch(request) }
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            report(request, began) { metadata in
                metadata["status"] = .stringConvertible(response.status)
                // AWS's identifier of the request.
                metadata["provider_request_id"] = response.header("x-amzn-requestid").map { "\($0)" }
            }
            return response
        } catch {
            report(request, began) { $0["error"] = "\(error)" }
            throw error
        }
    }

    private func report(
        _ request: FetchRequest, _ began: ContinuousClock.Instant, _ outcome: (inout Logger.Metadata) -> Void
    ) {
        var metadata: Logger.Metadata = [
            "method": "\(request.method)", "host": "\(request.host)",
            "milliseconds": .stringConvertible(Int((ContinuousClock.now - began) / .milliseconds(1))),
        ]
        metadata["operation"] = request.cognitoOperation.map { "\($0)" }
        metadata["request_id"] = CalledRequest.current.map { "\($0.id)" }
        outcome(&metadata)
        logger.debug("outgoing call", metadata: metadata)
    }
}

/// The client's request that the current tasks serve, and how long they have waited for Cognito, Apple or a backend.
package final class CalledRequest: Sendable {
    @TaskLocal package static var current: CalledRequest?

    let id: String
    private let sum = Locked(Duration.zero)
    private let clientHasGone = Locked(false)
    private let caughtUp: @Sendable () async -> Void

    /// - Parameter caughtUp: returns when everything that the client has sent so far has been read.
    package init(id: String, caughtUp: @escaping @Sendable () async -> Void = {}) {
        self.id = id
        self.caughtUp = caughtUp
    }

    /// Records that the client no longer waits for a response. The tasks continue.
    package func abandon() { clientHasGone.withLock { $0 = true } }

    /// Whether the client has gone, according to everything it has sent so far.
    package func isAbandoned() async -> Bool {
        await caughtUp()
        return hasNoClient
    }

    private var hasNoClient: Bool { clientHasGone.withLock { $0 } }

    /// The total waiting time; zero if there were no calls.
    package var waited: Duration { sum.withLock { $0 } }

    func waited(_ duration: Duration) { sum.withLock { $0 += duration } }
}

extension FetchRequest {
    /// The operation of a call to Cognito; nil for other calls.
    var cognitoOperation: String? {
        headers.first { $0.name.lowercased() == "x-amz-target" }.map { target in
            String(target.value.split(separator: ".").last ?? "")
        }
    }

    /// The destination and operation of the call, without the path, which may be secret.
    fileprivate var summary: String { "\(method) \(host)\(cognitoOperation.map { " " + $0 } ?? "")" }

    /// The URL's host, with the port if there is one.
    fileprivate var host: String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        let authority = parts.dropFirst().first ?? ""
        return String(authority.split(separator: "@").last ?? "")
    }
}
