internal import Clocks
package import Telemetry

/// Creates a span for each fetch in a traced request.
package struct TracedFetcher: Fetcher {
    private let fetcher: any Fetcher
    private let name: String?
    private let tracing: CurrentTracing?

    /// - Parameters:
    ///   - name: the spans' name; nil: the Cognito operation, or otherwise the method.
    ///   - tracing: starts traces for fetches outside of a request; nil: these are not traced.
    package init(_ fetcher: any Fetcher, name: String? = nil, tracing: CurrentTracing? = nil) {
        self.fetcher = fetcher
        self.name = name
        self.tracing = tracing
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        guard let (span, parentID) = span() else { return try await fetcher.fetch(request) }
        let began = WallClock.nanoseconds()
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            let status = (name: "http.response.status_code", value: Span.Value.number(Int64(response.status)))
            add(request, span, parentID, began, status, isError: response.status >= 400)
            return response
        } catch {
            add(request, span, parentID, began, (name: "error.type", value: .text(error.type)), isError: true)
            throw error
        }
    }

    /// A new span and its parent's id, which is 0 for the root of a trace; nil if the fetch is not traced.
    private func span() -> (SpanContext, parentID: UInt64)? {
        if let current = SpanContext.current {
            return current.isSampled ? (current.child(), current.ids.spanID) : nil
        }
        guard let root = tracing?.recorder.map(SpanContext.init(beginningTraceIn:)), root.isSampled else { return nil }
        return (root, 0)
    }

    private func add(
        _ request: FetchRequest, _ span: SpanContext, _ parentID: UInt64, _ began: Int64,
        _ outcome: (name: String, value: Span.Value), isError: Bool
    ) {
        let operation = request.cognitoOperation
        var attributes: Span.Attributes = [
            (name: "http.request.method", value: .text(request.method)),
            (name: "url.full", value: .text(request.tracedURL)),
        ]
        if let address = ServerAddress(url: request.url) {
            attributes.append((name: "server.address", value: .text(address.host)))
            if let port = address.port { attributes.append((name: "server.port", value: .number(Int64(port)))) }
        }
        if let operation {
            attributes.append((name: "rpc.method", value: .text(operation)))
        }
        attributes.append(outcome)
        span.recorder.queue.add(
            Span(
                ids: span.ids, parentID: parentID, name: name ?? operation.map { "Cognito \($0)" } ?? request.method,
                kind: .client, start: began, end: WallClock.nanoseconds(), attributes: attributes,
                status: isError ? .error(nil) : .unset))
    }
}

extension FetchRequest {
    /// Queries, and some paths, may contain secrets that a collector must not receive.
    fileprivate var tracedURL: String {
        guard hasSecretPath else { return String(url.prefix { $0 != "?" }) }
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}

extension FetchError {
    /// The error type, from a closed list.
    fileprivate var type: String {
        switch self {
        case .cannotConnect: "cannot-connect"
        case .timedOut: "timed-out"
        case .responseTooLarge: "response-too-large"
        case .forbiddenScheme: "forbidden-scheme"
        case .forbiddenAddress: "forbidden-address"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }
}
