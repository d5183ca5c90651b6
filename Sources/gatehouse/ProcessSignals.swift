internal import Dispatch
internal import Glibc

/// Signals sent to the process. From initialization on, they no longer end the process, but wait to be read.
struct ProcessSignals: Sendable {
    /// An element for each signal. The system may merge signals that arrive in quick succession.
    let all: AsyncStream<Void>

    init(_ signals: Int32...) async {
        let (all, continuation) = AsyncStream.makeStream(of: Void.self)
        self.all = all
        let queue = DispatchQueue(label: "signals")
        for signal in signals {
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // The handler retains the source for the lifetime of the process.
            source.setEventHandler { withExtendedLifetime(source) { _ = continuation.yield() } }
            // Before registration, the signal would have its default action.
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }
}
