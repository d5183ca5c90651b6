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
        guard let (scope, isRoot) = scope() else { return try await fetcher.fetch(request) }
        let began = WallClock.nanoseconds()
        do throws(FetchError) {
            let response = try await fetcher.fetch(request)
            let status = (name: "http.response.status_code", value: Span.Value.number(Int64(response.status)))
            add(request, scope, isRoot, began, status, isError: response.status >= 400)
            return response
        } catch {
            add(request, scope, isRoot, began, (name: "error.type", value: .text(error.type)), isError: true)
            throw error
        }
    }

    /// Nil where there is nothing to trace.
    private func scope() -> (SpanScope, isRoot: Bool)? {
        if let current = SpanScope.current { return current.isSampled ? (current, false) : nil }
        guard let recorder = tracing?.recorder else { return nil }
        let traceID = UInt128(SpanScope.newID()) << 64 | UInt128(SpanScope.newID())
        guard recorder.sampler.samples(traceID) else { return nil }
        return (
            SpanScope(ids: TraceIDs(traceID: traceID, spanID: SpanScope.newID()), isSampled: true, recorder: recorder),
            true
        )
    }

    private func add(
        _ request: FetchRequest, _ scope: SpanScope, _ isRoot: Bool, _ began: Int64,
        _ outcome: (name: String, value: Span.Value), isError: Bool
    ) {
        let operation = request.cognitoOperation
        var attributes: [(name: String, value: Span.Value)] = [
            (name: "http.request.method", value: .text(request.method)),
            (name: "url.full", value: .text(request.tracedURL)),
        ]
        if let operation {
            attributes.append((name: "rpc.method", value: .text(operation)))
        }
        let name = name ?? operation.map { "Cognito \($0)" } ?? request.method
        attributes.append(outcome)
        guard isRoot else {
            return scope.add(name, .client, began: began, attributes: attributes, isError: isError)
        }
        scope.recorder.queue.add(
            Span(
                ids: scope.ids, parentID: 0, name: name, kind: .client, start: began, end: WallClock.nanoseconds(),
                attributes: attributes, isError: isError))
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
