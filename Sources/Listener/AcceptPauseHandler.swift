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

    /// - Parameters:
    ///   - reserve: how many descriptors its connections leave to others.
    ///   - makeRoom: called at each pause.
    init(reserve: Int, makeRoom: @escaping () -> Void) {
        self.reserve = DescriptorReserve(size: reserve)
        self.makeRoom = makeRoom
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard reserve.isFree() else {
            unwrapInboundIn(data).close(promise: nil)
            return pause(context)
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
        setReading(false, context)
        makeRoom()
        let bound = NIOLoopBound((handler: self, context: context), eventLoop: context.eventLoop)
        resumption = context.eventLoop.scheduleTask(in: Self.pause) {
            let (handler, context) = bound.value
            handler.resumption = nil
            handler.setReading(true, context)
        }
    }

    private func setReading(_ isReading: Bool, _ context: ChannelHandlerContext) {
        do {
            try context.channel.syncOptions?.setOption(.autoRead, value: isReading)
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
