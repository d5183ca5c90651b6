package import Dispatch
package import NIOCore
internal import Synchronization

/// The event loops that share the connections of all listeners.
package final class SocketEventLoopGroup: EventLoopGroup {
    package let loops: [SocketEventLoop]
    private let given = Atomic(0)

    /// Starts `count` event loops, each on its own thread.
    ///
    /// - Throws: ``IOError`` if an epoll set, an eventfd or a thread cannot be created.
    package init(count: Int) throws(IOError) {
        var loops: [SocketEventLoop] = []
        for number in 0..<count { loops.append(try SocketEventLoop(name: "event-loop-\(number)")) }
        self.loops = loops
    }

    /// Returns the loops in turn.
    package func nextLoop() -> SocketEventLoop {
        loops[(given.wrappingAdd(1, ordering: .relaxed).oldValue & .max) % loops.count]
    }

    package func next() -> any EventLoop { nextLoop() }

    package func makeIterator() -> EventLoopIterator { EventLoopIterator(loops) }

    package func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {
        let left = DispatchGroup()
        for loop in loops {
            left.enter()
            loop.stop { left.leave() }
        }
        left.notify(queue: queue) { [loops] in
            for loop in loops { loop.join() }
            callback(nil)
        }
    }
}
