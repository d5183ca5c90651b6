public import Foundation
#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends HTTP requests. A transport follows no redirect, and keeps no cookies and no cache of its own.
public protocol Transport: Sendable {
    /// Sends a request.
    ///
    /// - Parameter file: the body, in place of the request's own.
    /// - Returns: the response's head and its body, piece by piece.
    /// - Throws: `URLError`, and `CancellationError`.
    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody)
    /// As ``send(_:uploading:)``, with the whole body: by default it is collected, where another way is cheaper.
    func data(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, Data)
}

extension Transport {
    public func data(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, Data) {
        let (response, body) = try await send(request, uploading: file)
        return (response, try await body.collected())
    }
}

/// A response's body, in pieces as they come. Its iteration throws `URLError` if the connection breaks, and
/// `CancellationError` if the task is cancelled.
public struct ResponseBody: AsyncSequence, Sendable {
    public typealias Element = Data
    private let stream: AsyncThrowingStream<Data, any Error>

    public init(_ stream: AsyncThrowingStream<Data, any Error>) { self.stream = stream }

    /// A body that is there already.
    public init(_ data: Data) {
        stream = AsyncThrowingStream { continuation in
            continuation.yield(data)
            continuation.finish()
        }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var pieces: AsyncThrowingStream<Data, any Error>.Iterator

        public mutating func next() async throws -> Data? {
            if let piece = try await pieces.next() { return piece }
            // In a cancelled task the stream ends wherever it is.
            try Task.checkCancellation()
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(pieces: stream.makeAsyncIterator()) }

    /// The whole body.
    ///
    /// - Throws: `URLError(.dataLengthExceedsMaximum)` if it is longer than `limit` bytes.
    func collected(upTo limit: Int = .max) async throws -> Data {
        var data = Data()
        for try await piece in self {
            data.append(piece)
            if data.count > limit { throw URLError(.dataLengthExceedsMaximum) }
        }
        return data
    }
}
