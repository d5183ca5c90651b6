package import Encoding
package import HTTPClient
import Synchronization

/// A `Fetcher` that answers from a list and keeps what it was asked.
package actor RecordedFetcher: Fetcher {
    private var answers: [Result<FetchResponse, FetchError>]
    package private(set) var requests: [FetchRequest] = []

    package init(_ answers: [Result<FetchResponse, FetchError>]) {
        self.answers = answers
    }

    package init(_ answers: FetchResponse...) {
        self.answers = answers.map { .success($0) }
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        requests.append(request)
        guard !answers.isEmpty else { throw .failed("unexpected call") }
        return try answers.removeFirst().get()
    }

    /// Answers these when the others are used up.
    package func append(_ more: [FetchResponse]) { answers += more.map { .success($0) } }

    /// The bodies sent, in order.
    package var bodies: [JSON] { requests.map { (try? JSON.parse($0.body ?? [])) ?? .null } }

    /// The operations called, in order.
    package var operations: [String] {
        requests.map { request in
            let target = request.headers.first { $0.name == "X-Amz-Target" }?.value ?? ""
            return String(target.split(separator: ".").last ?? "")
        }
    }
}

/// A `Fetcher` that answers nobody before ``open()``.
package actor GatedFetcher: Fetcher {
    private let answer: FetchResponse
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    package private(set) var calls = 0

    package init(_ answer: FetchResponse) {
        self.answer = answer
    }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        calls += 1
        if !isOpen { await withCheckedContinuation { held.append($0) } }
        return answer
    }

    package func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }
}

/// A `Fetcher` that gives the answers of a list, the last one for ever, and nobody any while it is closed.
package actor RepeatingFetcher: Fetcher {
    private var answers: [Result<FetchResponse, FetchError>]
    private var isOpen: Bool
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []
    package private(set) var requests: [FetchRequest] = []

    package init(_ answers: [Result<FetchResponse, FetchError>], isOpen: Bool = true) {
        self.answers = answers
        self.isOpen = isOpen
    }

    package var calls: Int { requests.count }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        requests.append(request)
        for watcher in watchers { watcher.resume() }
        watchers = []
        if !isOpen { await withCheckedContinuation { held.append($0) } }
        guard let answer = answers.first else { throw .failed("unexpected call") }
        if answers.count > 1 { answers.removeFirst() }
        return try answer.get()
    }

    /// Returns when the fetcher has been called.
    package func awaitCall() async {
        guard requests.isEmpty else { return }
        await withCheckedContinuation { watchers.append($0) }
    }

    package func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }

    package func answer(_ answer: Result<FetchResponse, FetchError>) { answers = [answer] }
}

/// Answers with what a test has put there, and keeps what it was sent.
package final class ScriptedReceiver: Fetcher {
    private let state = Mutex<(statuses: [Int], requests: [FetchRequest])>(([], []))

    package init(_ statuses: Int...) { state.withLock { $0.statuses = statuses } }

    /// 200 when nothing else is left to say; 0 is no answer.
    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let status = state.withLock { state -> Int in
            state.requests.append(request)
            return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
        }
        guard status > 0 else { throw .timedOut }
        return FetchResponse(status: status)
    }

    package var requests: [FetchRequest] { state.withLock { $0.requests } }
    package var bodies: [String] { requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } }
}
