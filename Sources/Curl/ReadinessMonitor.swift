internal import CCurl
internal import Glibc
internal import Locking

/// The one thread that tells event loops that their libcurl sockets have something to do.
///
/// SwiftNIO cannot watch a foreign descriptor, but each loop's sockets are in an epoll set of its own, and an
/// epoll descriptor can itself be watched. A registration is one-shot: a loop that has drained its set and
/// found nothing arms it again, and a busy loop, which looks by itself in every tick, is never woken.
final class ReadinessMonitor: Sendable {
    static let shared = ReadinessMonitor()

    private let descriptor: Int32
    private let wakers = Locked<[Int32: @Sendable () -> Void]>([:])

    private init() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        precondition(descriptor >= 0, "epoll_create1 failed")
        // Started once and never ended, so the process-long reference is right.
        let context = Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<ReadinessMonitor>.fromOpaque(context).takeUnretainedValue().run() }
                return nil
            }, context)
        precondition(code == 0, "pthread_create failed")
        pthread_detach(thread)
    }

    /// Watches `set`, disarmed at first. `wake` is called on the monitor's thread.
    func register(_ set: Int32, wake: @escaping @Sendable () -> Void) {
        wakers.withLock { $0[set] = wake }
        control(EPOLL_CTL_ADD, set, events: 0)
    }

    func unregister(_ set: Int32) {
        control(EPOLL_CTL_DEL, set, events: 0)
        wakers.withLock { $0[set] = nil }
    }

    /// Wakes the owner of `set` once, as soon as something in it is ready, which may be at once.
    func arm(_ set: Int32) {
        control(EPOLL_CTL_MOD, set, events: EPOLLIN.rawValue | EPOLLONESHOT.rawValue)
    }

    private func control(_ operation: Int32, _ set: Int32, events: UInt32) {
        var event = epoll_event()
        event.events = events
        event.data.fd = set
        let code = epoll_ctl(descriptor, operation, set, &event)
        precondition(code == 0, "epoll_ctl failed")
    }

    private func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(descriptor, &events, Int32(events.count), -1)
            guard count > 0 else { continue }
            let ready = wakers.withLock { wakers in events[..<Int(count)].compactMap { wakers[$0.data.fd] } }
            for wake in ready { wake() }
        }
    }
}
