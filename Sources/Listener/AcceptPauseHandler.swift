internal import Glibc
internal import NIOCore

/// Stops accepting for a moment when the system has no descriptor or no memory for another connection, or when few
/// descriptors are left. Meanwhile idle connections make room.
///
/// The last descriptors are for what the connections need, such as one to a backend, and for libdispatch: its monitor of
/// worker threads opens a file of /proc each second, and ends the process where it cannot.
///
/// SwiftNIO's own handler for this only delays the reads it is asked for. A read whose first accept fails stays pending
/// there, so that the listening socket is still watched, and tried again without end.
final class AcceptPauseHandler: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private static let pause = TimeAmount.milliseconds(500)

    private let makeRoom: () -> Void
    private var resumption: Scheduled<Void>?
    private var reserve: DescriptorReserve
    /// How many connections are accepted in one turn of the event loop: a quarter of the reserve, since those that are
    /// refused take a descriptor each until their own event loops close them.
    ///
    /// SwiftNIO's few let the last of a thousand new connections wait for seconds while those before it keep the loop
    /// busy.
    private let burst: UInt
    /// Whether connections are accepted one by one, because there was no room for the last.
    private var isTrying = false

    /// - Parameters:
    ///   - reserve: how many descriptors its connections leave to others.
    ///   - makeRoom: called at each pause.
    init(reserve: Int, makeRoom: @escaping () -> Void) {
        self.reserve = DescriptorReserve(size: reserve)
        burst = UInt(max(1, self.reserve.count / 4))
        self.makeRoom = makeRoom
    }

    func handlerAdded(context: ChannelHandlerContext) {
        set(.maxMessagesPerRead, burst, context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard reserve.isFree() else {
            unwrapInboundIn(data).close(promise: nil)
            return pause(context)
        }
        // Others of the same burst come here in the pause, and show nothing about the time behind it.
        if isTrying, resumption == nil {
            isTrying = false
            set(.maxMessagesPerRead, burst, context)
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        pause(context)
    }

    private func pause(_ context: ChannelHandlerContext) {
        guard resumption == nil else { return }
        set(.autoRead, false, context)
        set(.maxMessagesPerRead, 1, context)
        isTrying = true
        makeRoom()
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        resumption = context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            handler.resumption = nil
            handler.set(.autoRead, true, context)
        }
    }

    private func set<Option: ChannelOption>(
        _ option: Option, _ value: Option.Value, _ context: ChannelHandlerContext
    ) {
        do {
            try context.channel.syncOptions?.setOption(option, value: value)
        } catch {
            // The channel is closed: there is nothing to accept any more.
            resumption?.cancel()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        resumption?.cancel()
        context.fireChannelInactive()
    }
}
