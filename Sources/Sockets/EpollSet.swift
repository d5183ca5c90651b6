internal import CEpoll
internal import Glibc
internal import NIOCore

/// The receiver of a descriptor's events.
package protocol ReadinessHandler: AnyObject {
    /// Called on the loop.
    func ready(_ events: ReadyEvents)
    /// Called when the loop ends. No more events are reported.
    func stop()
}

extension ReadinessHandler {
    package func stop() {}
}

/// The events of a descriptor, as reported or requested (epoll_ctl(2)). Errors and hang-ups are always reported.
package struct ReadyEvents: OptionSet {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let readable = Self(rawValue: EPOLLIN.rawValue)
    package static let writable = Self(rawValue: EPOLLOUT.rawValue)
    /// The peer sends nothing more.
    package static let inputEnds = Self(rawValue: EPOLLRDHUP.rawValue)
    /// Urgent bytes have arrived (RFC 9293, section 3.8.5).
    package static let urgent = Self(rawValue: EPOLLPRI.rawValue)
    package static let hangUp = Self(rawValue: EPOLLHUP.rawValue)
    package static let error = Self(rawValue: EPOLLERR.rawValue)
    /// Each change is reported once.
    package static let edgeTriggered = Self(rawValue: EPOLLET.rawValue)
}

/// An epoll set: the descriptors that a loop watches, and the events of the last wait.
final class EpollSet {
    private let descriptor: Int32
    private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)

    struct Event {
        let descriptor: Int32
        let generation: UInt32
        let events: ReadyEvents
    }

    init() throws(IOError) {
        events.initialize(repeating: epoll_event())
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "epoll_create1") }
    }

    /// Also runs when `init` throws.
    deinit {
        close(descriptor)
        events.deallocate()
    }

    func add(_ descriptor: Int32, generation: UInt32, _ events: ReadyEvents) throws(IOError) {
        try control(EPOLL_CTL_ADD, descriptor, generation, events)
    }

    func change(_ descriptor: Int32, generation: UInt32, _ events: ReadyEvents) throws(IOError) {
        try control(EPOLL_CTL_MOD, descriptor, generation, events)
    }

    /// Removes a descriptor. It fails only if the descriptor is not in the set.
    func remove(_ descriptor: Int32) {
        var event = epoll_event()
        epoll_ctl(self.descriptor, EPOLL_CTL_DEL, descriptor, &event)
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ generation: UInt32, _ events: ReadyEvents
    ) throws(IOError) {
        var event = epoll_event()
        event.events = events.rawValue
        event.data.u64 = UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
        guard epoll_ctl(self.descriptor, operation, descriptor, &event) == 0 else {
            throw IOError(errnoCode: errno, reason: "epoll_ctl")
        }
    }

    /// Waits for events.
    ///
    /// - Parameter milliseconds: the longest wait; -1: no limit.
    /// - Returns: the number of events.
    func wait(milliseconds: Int32) -> Int {
        let count = epoll_wait(descriptor, events.baseAddress, Int32(events.count), milliseconds)
        if count >= 0 { return Int(count) }
        // A signal has interrupted the wait, such as one that continues a stopped process. Events that arrived in the
        // meantime are reported before timers are found to be due.
        return max(0, Int(epoll_wait(descriptor, events.baseAddress, Int32(events.count), 0)))
    }

    subscript(index: Int) -> Event {
        let event = events[index]
        return Event(
            descriptor: Int32(truncatingIfNeeded: event.data.u64),
            generation: UInt32(truncatingIfNeeded: event.data.u64 >> 32), events: ReadyEvents(rawValue: event.events))
    }
}
