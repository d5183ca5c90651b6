internal import Clocks
package import Telemetry

/// Makes a span of each fetch for a traced request.
package struct TracedFetcher: Fetcher {
    private let fetcher: any Fetcher
    private let name: String?
    private let tracing: CurrentTracing?

    /// - Parameters:
    ///   - name: of the spans; nil: by the operation of Cognito's that is called, or else the method.
    ///   - tracing: where traces of fetches begin that no request asks for; nil: these are not traced.
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

    /// A new span, and its parent's id, which is 0 where a trace begins; nil where there is nothing to trace.
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
    /// A query may hold what is no collector's business, and so may some paths.
    fileprivate var tracedURL: String {
        guard hasSecretPath else { return String(url.prefix { $0 != "?" }) }
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }
}

extension FetchError {
    /// From a closed list.
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
