package import Curl
internal import Encoding
internal import NIOCore

/// The production ``Fetcher``: libcurl transfers on one event loop's multi handle.
package final class CurlFetcher: Fetcher {
    private let eventLoop: any EventLoop
    private let loop: NIOLoopBound<CurlLoop>
    private let allowsPlainText: Bool
    private let allowsPrivateAddresses: Bool
    private let access: CurlAccess

    /// - Parameters:
    ///   - allowsPlainText: whether `http` URLs may be fetched, for development on one machine.
    ///   - allowsPrivateAddresses: whether servers at addresses that only this machine or its network can reach may be
    ///     contacted.
    ///   - access: how to reach the one server fetched from, beyond its URL.
    /// - Precondition: on the loop's thread.
    package init(
        loop: CurlLoop, allowsPlainText: Bool, allowsPrivateAddresses: Bool = true, access: CurlAccess = CurlAccess()
    ) {
        self.access = access
        self.allowsPrivateAddresses = allowsPrivateAddresses
        self.eventLoop = loop.eventLoop
        self.loop = NIOLoopBound(loop, eventLoop: loop.eventLoop)
        self.allowsPlainText = allowsPlainText
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let transfer = CurlFetchRequest(
            method: request.method, url: request.url,
            headerLines: request.headers.map { "\($0.name): \($0.value)" }, body: request.body,
            deadline: request.deadline, maximumResponseBytes: request.maximumResponseBytes,
            needsWholeBody: request.needsWholeBody, allowsPlainText: allowsPlainText,
            allowsPrivateAddresses: allowsPrivateAddresses, access: access,
            connectsAfresh: request.connectsAfresh)
        guard !transfer.headerLines.contains(where: { $0.utf8.contains { $0 < 0x20 } }) else {
            throw .failed("a header line holds a control character")
        }
        let result = await run(transfer)
        switch result {
        case .success(let response): return FetchResponse(response)
        case .failure(let failure): throw FetchError(failure)
        }
    }

    private enum Run {
        case waiting
        case running(CurlFetch)
        case ended
        /// Cancelled before it began.
        case cancelled
    }

    /// Cancelling the task ends its transfer; a task that is already cancelled starts none.
    private func run(_ transfer: CurlFetchRequest) async -> Result<CurlFetchResponse, CurlFailure> {
        let run = NIOLoopBoundBox.makeBoxSendingValue(Run.waiting, eventLoop: eventLoop)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                eventLoop.execute { [loop] in
                    if case .cancelled = run.value {
                        return continuation.resume(
                            returning: .failure(CurlFailure(kind: .cancelled, description: "cancelled")))
                    }
                    do {
                        run.value = .running(
                            try CurlFetch(transfer, on: loop.value) { result in
                                run.value = .ended
                                continuation.resume(returning: result)
                            })
                    } catch let failure as CurlFailure {
                        continuation.resume(returning: .failure(failure))
                    } catch {
                        preconditionFailure("CurlFetch throws CurlFailure")
                    }
                }
            }
        } onCancel: {
            eventLoop.execute {
                switch run.value {
                case .waiting: run.value = .cancelled
                case .running(let fetch): fetch.cancel()
                case .ended, .cancelled: break
                }
            }
        }
    }
}

extension FetchResponse {
    init(_ response: CurlFetchResponse) {
        let headers = response.headerLines.compactMap { line -> (name: String, value: String)? in
            // Compared as bytes, since comparing non-ASCII characters can be slow.
            let name = line.utf8.prefix { $0 != UInt8(ascii: ":") }
            guard name.endIndex < line.endIndex, name.allSatisfy({ $0 < 0x80 }) else { return nil }
            let value = line.utf8[name.endIndex...].dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
            return (name: String(Substring(name)).asciiLowercased, value: String(Substring(value)))
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
            case .privateAddress: .forbiddenAddress
            case .cancelled: .cancelled
            case .resource, .transfer: .failed(failure.description)
            }
    }
}
