internal import Dispatch
internal import Glibc

/// Signals that come to the process. From its making on they no longer end the process, and wait to be read.
struct ProcessSignals: Sendable {
    /// A value for each signal. Of signals that come quickly one after another, the system may keep only one.
    let all: AsyncStream<Void>

    init(_ signals: Int32...) async {
        let (all, continuation) = AsyncStream.makeStream(of: Void.self)
        self.all = all
        let queue = DispatchQueue(label: "signals")
        for signal in signals {
            let source = DispatchSource.makeSignalSource(signal: signal, queue: queue)
            // The handler keeps the source for as long as the process lives.
            source.setEventHandler { withExtendedLifetime(source) { _ = continuation.yield() } }
            // Until then the signal would do what it does by default.
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
        }
    }
}
