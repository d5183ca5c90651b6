public import Foundation
#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// Sends requests through a `URLSession` of its own, without cookies and cache.
///
/// URLSession's redirects are never taken: a token must not go to another host, and on Linux they end the process over
/// HTTP/2 in Swift 6.2 and 6.3 (swift-corelibs-foundation#5524).
public final class URLSessionTransport: Transport {
    private let session: URLSession
    private let tasks = TaskDelegate()

    /// - Parameter trust: decides about the server's certificate beside the system, as ``PinnedKeys`` does.
    public init(trust: (any ServerTrust)? = nil) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpShouldSetCookies = false
        #if canImport(FoundationNetworking)
            configuration.httpMaximumConnectionsPerHost = 256  // cancelled requests hold theirs for a while
        #endif
        tasks.trust = trust
        session = URLSession(configuration: configuration, delegate: tasks, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    public func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        try Task.checkCancellation()
        let task =
            if let file { session.uploadTask(with: request, fromFile: file) } else { session.dataTask(with: request) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                tasks.begin(task, head: continuation)
                task.resume()
                // The handler may have run before the task was begun.
                if Task.isCancelled { task.cancel() }
            }
        } onCancel: {
            tasks.cancel(task)
        }
    }
}

/// Decides about a server's certificate, after the system has.
public protocol ServerTrust: Sendable {
    /// - Returns: false if the connection must not be used.
    func accepts(_ challenge: URLAuthenticationChallenge) -> Bool
}

/// Hands each task's response on to the one that waits for it.
final class TaskDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private struct Exchange {
        var head: CheckedContinuation<(HTTPURLResponse, ResponseBody), any Error>?
        var body: AsyncThrowingStream<Data, any Error>.Continuation?
    }

    // Unchecked: `exchanges` is only used under `lock`, and `trust` is set before the session is made.
    private let lock = NSLock()
    private var exchanges: [Int: Exchange] = [:]
    var trust: (any ServerTrust)?

    func begin(_ task: URLSessionTask, head: CheckedContinuation<(HTTPURLResponse, ResponseBody), any Error>) {
        lock.withLock { exchanges[task.taskIdentifier] = Exchange(head: head) }
    }

    /// Cancels a task that has begun. Before, nobody would hear of its end.
    func cancel(_ task: URLSessionTask) {
        #if canImport(FoundationNetworking)
            // There, a task that is cancelled as it completes ends the process: its response is refused when it comes.
            urlSession(.shared, task: task, didCompleteWithError: CancellationError())
        #else
            if lock.withLock({ exchanges[task.taskIdentifier] != nil }) { task.cancel() }
        #endif
    }

    func urlSession(
        _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        let head = lock.withLock {
            defer { exchanges[dataTask.taskIdentifier]?.head = nil }
            return exchanges[dataTask.taskIdentifier]?.head
        }
        guard let head, let response = response as? HTTPURLResponse else {
            head?.resume(throwing: URLError(.badServerResponse))
            return completionHandler(.cancel)
        }
        let (stream, body) = AsyncThrowingStream<Data, any Error>.makeStream()
        body.onTermination = { if case .cancelled = $0 { dataTask.cancel() } }
        lock.withLock { exchanges[dataTask.taskIdentifier] = Exchange(body: body) }
        head.resume(returning: (response, ResponseBody(stream)))
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        lock.withLock { exchanges[dataTask.taskIdentifier]?.body }?.yield(data)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = lock.withLock({ exchanges.removeValue(forKey: task.taskIdentifier) }) else { return }
        exchange.head?.resume(throwing: error ?? URLError(.badServerResponse))
        exchange.body?.finish(throwing: error)
    }

    func urlSession(
        _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse,
        newRequest _: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust else { return completionHandler(.performDefaultHandling, nil) }
        completionHandler(trust.accepts(challenge) ? .performDefaultHandling : .cancelAuthenticationChallenge, nil)
    }
}
