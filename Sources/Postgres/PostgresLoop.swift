internal import CPostgres
internal import Glibc
internal import Locking

/// The one thread on which libpq runs: it waits for all connections' sockets, their deadlines, and work from other
/// threads.
///
/// Nothing blocks it: only libpq's non-blocking functions are called, and names are resolved elsewhere.
final class PostgresLoop: @unchecked Sendable {
    // Sendable because everything but `inbox` is used only on the loop's own thread, which runs `run`.

    static let shared = PostgresLoop()

    typealias Work = () -> Void

    private let inbox = Locked<[@Sendable () -> Void]>([])
    private let set: CInt
    private let bell: CInt
    /// The handlers of the descriptors' events.
    private var watchers: [CInt: Work] = [:]
    private var timers = PostgresTimers()

    private init() {
        set = epoll_create1(CInt(EPOLL_CLOEXEC))
        bell = eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(set >= 0 && bell >= 0, "epoll_create1 or eventfd failed")
        control(EPOLL_CTL_ADD, bell, events: EPOLLIN.rawValue)
        // The thread never ends, so the reference is never released.
        let context = Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                if let context { Unmanaged<PostgresLoop>.fromOpaque(context).takeUnretainedValue().run() }
                return nil
            }, context)
        precondition(code == 0, "pthread_create failed")
        pthread_detach(thread)
    }

    // MARK: From any thread

    /// Runs `work` on the loop's thread, after work submitted earlier.
    func execute(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = inbox.withLock { inbox in
            inbox.append(work)
            return inbox.count == 1
        }
        // The write fails only if the counter is at its maximum; then a wake-up is already pending.
        if wasEmpty { eventfd_write(bell, 1) }
    }

    // MARK: On the loop's thread

    /// Calls `watcher` whenever `descriptor` is ready, until ``unwatch(_:)``. Replaces an earlier watcher of the
    /// descriptor.
    func watch(_ descriptor: CInt, reads: Bool, writes: Bool, _ watcher: @escaping Work) {
        watchers[descriptor] = watcher
        let events = (reads ? EPOLLIN.rawValue : 0) | (writes ? EPOLLOUT.rawValue : 0)
        // A closed socket has left the epoll set, and another one may have its number.
        if control(EPOLL_CTL_MOD, descriptor, events: events) != 0 {
            control(EPOLL_CTL_ADD, descriptor, events: events)
        }
    }

    func unwatch(_ descriptor: CInt) {
        watchers[descriptor] = nil
        control(EPOLL_CTL_DEL, descriptor, events: 0)
    }

    /// Calls `work` once at `deadline`, unless it is cancelled first.
    func schedule(at deadline: ContinuousClock.Instant, _ work: @escaping Work) -> PostgresTimers.ID {
        timers.add(at: deadline, work)
    }

    func cancel(_ timer: PostgresTimers.ID) { timers.cancel(timer) }

    @discardableResult
    private func control(_ operation: CInt, _ descriptor: CInt, events: UInt32) -> CInt {
        var event = epoll_event()
        event.events = events
        event.data.fd = descriptor
        return epoll_ctl(set, operation, descriptor, &event)
    }

    private func run() {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(set, &events, CInt(events.count), timers.wait(now: .now))
            for event in events.prefix(Int(max(0, count))) {
                if event.data.fd == bell { answerBell() } else { watchers[event.data.fd]?() }
            }
            while let work = timers.next(now: .now) { work() }
        }
    }

    private func answerBell() {
        var value: eventfd_t = 0
        eventfd_read(bell, &value)
        let given = inbox.withLock { inbox in
            defer { inbox = [] }
            return inbox
        }
        for work in given { work() }
    }
}

/// A heap of deadlines. Cancelled ones, which most are, stay in it until they are due, without their work.
struct PostgresTimers {
    typealias ID = UInt64

    private var heap: [(deadline: ContinuousClock.Instant, id: ID)] = []
    private var work: [ID: PostgresLoop.Work] = [:]
    private var last: ID = 0

    mutating func add(at deadline: ContinuousClock.Instant, _ work: @escaping PostgresLoop.Work) -> ID {
        last += 1
        self.work[last] = work
        heap.append((deadline, last))
        var place = heap.count - 1
        while place > 0, heap[place].deadline < heap[(place - 1) / 2].deadline {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
        return last
    }

    mutating func cancel(_ id: ID) { work[id] = nil }

    /// Removes and returns the work of the next expired deadline; nil if there is none.
    mutating func next(now: ContinuousClock.Instant) -> PostgresLoop.Work? {
        while let first = heap.first {
            if let due = work[first.id] {
                guard first.deadline <= now else { return nil }
                work[first.id] = nil
                removeFirst()
                return due
            }
            removeFirst()
        }
        return nil
    }

    /// Milliseconds until the next deadline, rounded up; -1 if there is none.
    mutating func wait(now: ContinuousClock.Instant) -> CInt {
        while let first = heap.first, work[first.id] == nil { removeFirst() }
        guard let first = heap.first else { return -1 }
        return CInt(clamping: max(0, (first.deadline - now).milliseconds + 1))
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            let children = (2 * place + 1...2 * place + 2).filter { $0 < heap.count }
            guard let least = children.min(by: { heap[$0].deadline < heap[$1].deadline }),
                heap[least].deadline < heap[place].deadline
            else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
