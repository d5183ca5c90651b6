/// Who asks for a reload, and who does it: one after the other, and what is asked for while one is under way is one
/// more, however often it is asked for.
struct ReloadRequests: Sendable {
    private let requests: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (requests, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func ask() { continuation.yield() }

    /// Takes no more of them.
    func finish() { continuation.finish() }

    /// Calls `reload` for what is asked, until ``finish()``.
    func serve(_ reload: () async -> Void) async {
        for await _ in requests { await reload() }
    }
}
