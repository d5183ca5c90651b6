import Glibc
import NIOCore
import Sockets
import Testing

/// A wait that took longer than any test may.
struct TooLong: Error {}

/// A handler that notes in words what it sees.
final class Recorder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct State {
        var events: [String] = []
        var bytes: [UInt8] = []
        var waiting: [(test: (State) -> Bool, promise: EventLoopPromise<Void>)] = []
    }

    private let state: NIOLoopBoundBox<State>
    private let reads: Bool
    private let onRead: @Sendable (ChannelHandlerContext, ByteBuffer) -> Void

    /// - Parameter reads: false: bytes wait until the test asks for them.
    init(
        on eventLoop: any EventLoop, reads: Bool = true,
        onRead: @escaping @Sendable (ChannelHandlerContext, ByteBuffer) -> Void = { _, _ in }
    ) {
        state = NIOLoopBoundBox(State(), eventLoop: eventLoop)
        self.reads = reads
        self.onRead = onRead
    }

    private func note(_ event: String) {
        state.value.events.append(event)
        settle()
    }

    private func settle() {
        let current = state.value
        for waiting in current.waiting where waiting.test(current) { waiting.promise.succeed() }
        state.value.waiting.removeAll { $0.test(current) }
    }

    func channelActive(context: ChannelHandlerContext) { note("active") }
    func channelInactive(context: ChannelHandlerContext) { note("inactive") }
    func channelReadComplete(context: ChannelHandlerContext) { note("read complete") }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        note("error \((error as? IOError)?.errnoCode ?? -1)")
    }
    func channelWritabilityChanged(context: ChannelHandlerContext) {
        note(context.channel.isWritable ? "writable" : "not writable")
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) { note("\(event)") }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        state.value.bytes += Array(bytes.readableBytesView)
        onRead(context, bytes)
        settle()
    }

    /// - Precondition: on the loop.
    var current: State { state.value }

    /// Succeeds when `test` holds.
    func wait(until test: @escaping @Sendable (State) -> Bool) -> EventLoopFuture<Void> {
        let eventLoop = state.eventLoop
        return eventLoop.flatSubmit { [self] in
            let promise = eventLoop.makePromise(of: Void.self)
            if test(state.value) {
                promise.succeed()
            } else {
                state.value.waiting.append((test, promise))
                let deadline = eventLoop.scheduleTask(in: .seconds(50)) { promise.fail(TooLong()) }
                promise.futureResult.whenComplete { _ in deadline.cancel() }
            }
            return promise.futureResult
        }
    }
}
