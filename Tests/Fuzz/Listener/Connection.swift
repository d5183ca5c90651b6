import NIOCore
import NIOEmbedded
import Pipeline

@testable import Listener

/// One client connection through the listener's own pipeline, without a socket.
final class Connection {
    private let loop: EmbeddedEventLoop
    private let channel: EmbeddedChannel
    private let socket = Socket()
    private let service: FuzzService
    private let writeSize: Int
    /// The write that is not complete.
    private var write = ByteBuffer()
    /// Bytes that the gateway has not read.
    private var kernel: [ByteBuffer] = []
    private var hasEnded = false
    /// The stream that the client opened last.
    private var stream: UInt32 = 0xFFFF_FFFF
    private(set) var sentBytes = 0
    private(set) var writes = 0

    private static let mostInKernel = 8

    var receivedBytes: Int { socket.writtenBytes }
    /// The part of the process's memory that is the client's and not the gateway's.
    var clientBytes: Int { kernel.reduce(write.storageCapacity) { $0 + $1.storageCapacity } }
    var isOpen: Bool { channel.isActive }

    init(_ gateway: FuzzGateway, isProxied: Bool, writeSize: Int) throws {
        loop = gateway.loop
        service = gateway.service
        self.writeSize = writeSize
        channel = EmbeddedChannel(loop: loop)
        try channel.pipeline.syncOperations.addHandler(socket)
        let address = isProxied ? FuzzGateway.proxyAddress : "203.0.113.8"
        try channel.connect(to: SocketAddress(ipAddress: address, port: 50_000)).wait()
        try gateway.install(on: channel, from: address)
        channel.pipeline.read()
    }

    /// The client sends this; what fills a write goes out.
    func send(_ block: Script.Block) {
        var rest = numbered(block)[...]
        while !rest.isEmpty, !hasEnded {
            let room = writeSize - write.readableBytes
            write.writeBytes(rest.prefix(room))
            rest = rest.dropFirst(room)
            if write.readableBytes == writeSize { flush() }
        }
    }

    private func numbered(_ block: Script.Block) -> [UInt8] {
        var bytes = block.bytes
        for (offset, isNew) in block.streams {
            if isNew { stream &+= 2 }
            for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: stream >> (24 - 8 * index)) }
        }
        return bytes
    }

    /// Ends the write.
    func flush() {
        guard write.readableBytes > 0 else { return }
        sentBytes += write.readableBytes
        writes += 1
        // A client whose bytes nobody takes can send no more.
        if kernel.count < Self.mostInKernel { kernel.append(write) }
        write = ByteBuffer()
        deliver()
    }

    private func deliver() {
        while !kernel.isEmpty, channel.isActive {
            if !socket.isReading { loop.run() }
            guard socket.isReading else { return }
            socket.isReading = false
            channel.pipeline.fireChannelRead(kernel.removeFirst())
            channel.pipeline.fireChannelReadComplete()
            channel.pipeline.read()
        }
        loop.run()
    }

    func wait(quarters: Int) {
        loop.advanceTime(by: .milliseconds(250) * quarters)
        service.resume()
        deliver()
    }

    func setReading(_ reads: Bool) {
        service.resume()
        socket.setTaking(reads, channel)
        deliver()
    }

    /// The client ends its side.
    func end() {
        flush()
        guard !hasEnded else { return }
        hasEnded = true
        if channel.allowRemoteHalfClosure {
            channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        } else {
            channel.close(promise: nil)
        }
        loop.run()
    }

    func close() {
        channel.close(promise: nil)
        loop.run()
        socket.drop()
        loop.run()
    }
}

/// Stands where the socket is: what is written waits until the client takes it.
private final class Socket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private(set) var writtenBytes = 0
    var isReading = false
    private var takes = true
    private var waiting: [(bytes: IOData, promise: EventLoopPromise<Void>?)] = []
    private var waitingBytes = 0
    private var closing: EventLoopPromise<Void>?

    private static let highWatermark = 64 << 10

    func read(context: ChannelHandlerContext) {
        isReading = true
        context.read()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let bytes = unwrapOutboundIn(data)
        writtenBytes += bytes.readableBytes
        guard !takes else {
            promise?.succeed()
            return
        }
        waiting.append((bytes, promise))
        waitingBytes += bytes.readableBytes
        guard waitingBytes > Self.highWatermark, context.channel.isWritable else { return }
        (context.channel as? EmbeddedChannel)?.isWritable = false
        context.fireChannelWritabilityChanged()
    }

    func flush(context: ChannelHandlerContext) {}

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode == .output else {
            context.close(mode: mode, promise: promise)
            return
        }
        if waiting.isEmpty { promise?.succeed() } else { closing = promise }
    }

    func setTaking(_ takes: Bool, _ channel: EmbeddedChannel) {
        self.takes = takes
        guard takes else { return }
        let taken = waiting
        waiting = []
        waitingBytes = 0
        for write in taken { write.promise?.succeed() }
        if !channel.isWritable {
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
        }
        closing?.succeed()
        closing = nil
    }

    /// The connection has gone, and what waited with it.
    func drop() {
        let dropped = waiting
        waiting = []
        for write in dropped { write.promise?.fail(ChannelError.ioOnClosedChannel) }
        closing?.fail(ChannelError.ioOnClosedChannel)
        closing = nil
    }
}
