package import Curl
internal import NIOCore

/// The ``Fetcher`` of the product: libcurl transfers on one event loop's multi handle.
package final class CurlFetcher: Fetcher {
    private let eventLoop: any EventLoop
    private let loop: NIOLoopBound<CurlLoop>
    private let allowsPlainText: Bool

    /// - Parameter allowsPlainText: whether `http` URLs may be fetched, for development on one machine.
    /// - Precondition: on the loop's thread.
    package init(loop: CurlLoop, allowsPlainText: Bool) {
        self.eventLoop = loop.eventLoop
        self.loop = NIOLoopBound(loop, eventLoop: loop.eventLoop)
        self.allowsPlainText = allowsPlainText
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let transfer = CurlFetchRequest(
            method: request.method, url: request.url,
            headerLines: request.headers.map { "\($0.name): \($0.value)" }, body: request.body,
            deadline: request.deadline, maximumResponseBytes: request.maximumResponseBytes,
            allowsPlainText: allowsPlainText)
        guard !transfer.headerLines.contains(where: { $0.utf8.contains { $0 < 0x20 } }) else {
            throw .failed("a header line holds a control character")
        }
        let result = await run(transfer)
        switch result {
        case .success(let response): return FetchResponse(response)
        case .failure(let failure): throw FetchError(failure)
        }
    }

    private func run(_ transfer: CurlFetchRequest) async -> Result<CurlFetchResponse, CurlFailure> {
        await withCheckedContinuation { continuation in
            eventLoop.execute { [loop] in
                do {
                    _ = try CurlFetch(transfer, on: loop.value) { continuation.resume(returning: $0) }
                } catch let failure as CurlFailure {
                    continuation.resume(returning: .failure(failure))
                } catch {
                    preconditionFailure("CurlFetch throws CurlFailure")
                }
            }
        }
    }
}

extension FetchResponse {
    init(_ response: CurlFetchResponse) {
        let headers = response.headerLines.compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            return (name: line[..<colon].lowercased(), value: String(value))
        }
        self.init(status: response.status, headers: headers, body: response.body)
    }
}

extension FetchError {
    init(_ failure: CurlFailure) {
        self =
            switch failure.kind {
            case .resolve, .connect, .tls: .cannotConnect(failure.description)
            case .timeout: .timedOut
            case .sizeLimit: .responseTooLarge
            case .scheme: .forbiddenScheme
            case .resource, .transfer: .failed(failure.description)
            }
    }
}
