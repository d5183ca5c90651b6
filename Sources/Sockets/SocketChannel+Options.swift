internal import Glibc
package import NIOCore

extension SocketChannel {
    package func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
        loop.inEventLoop
            ? loop.makeCompletedFuture(Result { try set(option, value) })
            : loop.submit { try self.set(option, value) }
    }

    package func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
        loop.inEventLoop
            ? loop.makeCompletedFuture(Result { try get(option) })
            : loop.submit { try self.get(option) }
    }

    package var syncOptions: (any NIOSynchronousChannelOptions)? { SynchronousOptions(channel: self) }

    private struct SynchronousOptions: NIOSynchronousChannelOptions {
        let channel: SocketChannel
        func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
            try channel.set(option, value)
        }
        func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value { try channel.get(option) }
    }

    /// - Throws: `ChannelError` if the channel is closed or does not have the option.
    private func set<Option: ChannelOption>(_ option: Option, _ value: Option.Value) throws {
        guard isOpen else { throw ChannelError.ioOnClosedChannel }
        switch (option, value) {
        case (is ChannelOptions.Types.AutoReadOption, let value as Bool):
            let begins = value && !autoRead
            autoRead = value
            if begins, isActive { read0() }
        case (is ChannelOptions.Types.AllowRemoteHalfClosureOption, let value as Bool): allowsHalfClosure = value
        default: throw ChannelError.operationUnsupported
        }
    }

    private func get<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
        guard isOpen else { throw ChannelError.ioOnClosedChannel }
        let value: Any? =
            switch option {
            case is ChannelOptions.Types.AutoReadOption: autoRead
            case is ChannelOptions.Types.AllowRemoteHalfClosureOption: allowsHalfClosure
            case is ChannelOptions.Types.BufferedWritableBytesOption: unsentBytes
            default: nil
            }
        guard let value = value as? Option.Value else { throw ChannelError.operationUnsupported }
        return value
    }
}

extension SocketChannel: SocketOptionProvider {
    package func unsafeSetSocketOption<Value: Sendable>(
        level: NIOBSDSocket.OptionLevel, name: NIOBSDSocket.Option, value: Value
    ) -> EventLoopFuture<Void> {
        loop.makeCompletedFuture(
            Result {
                let descriptor = try openDescriptor
                let code = withUnsafeBytes(of: value) {
                    setsockopt(descriptor, level.rawValue, name.rawValue, $0.baseAddress, socklen_t($0.count))
                }
                guard code == 0 else { throw IOError(errnoCode: errno, reason: "setsockopt") }
            })
    }

    package func unsafeGetSocketOption<Value: Sendable>(
        level: NIOBSDSocket.OptionLevel, name: NIOBSDSocket.Option
    ) -> EventLoopFuture<Value> {
        loop.makeCompletedFuture(
            Result {
                try withUnsafeTemporaryAllocation(
                    byteCount: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment
                ) { room in
                    // An older kernel may fill only a part of the value.
                    room.initializeMemory(as: UInt8.self, repeating: 0)
                    var size = socklen_t(room.count)
                    let code = getsockopt(try openDescriptor, level.rawValue, name.rawValue, room.baseAddress, &size)
                    guard code == 0 else { throw IOError(errnoCode: errno, reason: "getsockopt") }
                    return room.load(as: Value.self)
                }
            })
    }

    package func unsafeSetSocketOption<Value: Sendable>(
        level: SocketOptionLevel, name: SocketOptionName, value: Value
    ) -> EventLoopFuture<Void> {
        unsafeSetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: CInt(level)), name: NIOBSDSocket.Option(rawValue: CInt(name)),
            value: value)
    }

    package func unsafeGetSocketOption<Value: Sendable>(
        level: SocketOptionLevel, name: SocketOptionName
    ) -> EventLoopFuture<Value> {
        unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel(rawValue: CInt(level)), name: NIOBSDSocket.Option(rawValue: CInt(name)))
    }
}
