internal import CEpoll
internal import Glibc
internal import Locking
package import NIOCore
internal import Synchronization

/// An event loop on its own thread. Its epoll set contains the clients' sockets, and the epoll set of `CurlLoop`, which
/// contains the backends' sockets.
///
/// SwiftNIO's own loop is not used for three reasons, measured on this data path (see RESULTS.md). It watches only the
/// descriptors of its own channels, so another thread had to report the events of libcurl's. It changes a socket's
/// registration three times for a connection with a single request; an edge-triggered registration is made once and
/// ends with the socket. And it creates and completes a dozen futures for each connection.
///
/// A turn of the loop handles the kernel's events, then due timers and tasks, and finally the work that is done once
/// for many connections. Tasks added meanwhile run in the next turn, after another check for events: no task delays
/// sockets.
///
/// `@unchecked Sendable`: other threads access only the inbox and the atomic values; everything else is used only by
/// the loop.
package final class SocketEventLoop: @unchecked Sendable {
    private let poll: EpollSet
    /// By descriptor.
    private var watched: [Watched] = []
    private var timers = TimerHeap()
    private var tasks = TurnList<LoopTask>()
    private var ending = TurnList<any EndOfTurnWork>()
    private var unfinished = TurnList<SocketChannel>()
    let buffers = ReceiveBuffers()
    package let parts = IOVectors()
    private var isStopping = false
    private var onStopped: (@Sendable () -> Void)?

    private let inbox = Locked(Inbox())
    private let inboxIsFilled = Atomic(false)
    private let isAsleep = Atomic(false)
    private let alarm: Int32
    /// The thread while it runs; 0 before and after.
    private let thread = Atomic<UInt>(0)
    /// The thread until ``join()`` waits for it; 0 from then on.
    private let joinable = Atomic<UInt>(0)

    private struct Watched {
        var handler: (any ReadinessHandler)?
        /// Distinguishes an event of a closed descriptor from one of a later descriptor with the same number.
        var generation: UInt32 = 0
    }

    private struct Inbox {
        var tasks: [@Sendable () -> Void] = []
        var isClosed = false
    }

    /// Starts the loop's thread.
    ///
    /// - Parameter name: the thread's name, at most 15 bytes.
    init(name: String) throws(IOError) {
        poll = try EpollSet()
        alarm = gatehouse_eventfd()
        guard alarm >= 0 else { throw IOError(errnoCode: errno, reason: "eventfd") }
        // Each write is reported once (edge-triggered), so the eventfd need not be read.
        try watch(alarm, for: [.readable, .edgeTriggered], Alarm())
        try start(name)
    }

    deinit { Glibc.close(alarm) }

    private final class Alarm: ReadinessHandler {
        func ready(_ events: ReadyEvents) {}
    }

    private func start(_ name: String) throws(IOError) {
        let context = Unmanaged.passRetained(ThreadStart(loop: self, name: name))
        var handle = pthread_t()
        let code = pthread_create(
            &handle, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
                pthread_setname_np(pthread_self(), start.name)
                start.loop.run()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw IOError(errnoCode: code, reason: "pthread_create")
        }
        thread.store(UInt(handle), ordering: .releasing)
        joinable.store(UInt(handle), ordering: .releasing)
    }

    private final class ThreadStart {
        let loop: SocketEventLoop
        let name: String

        init(loop: SocketEventLoop, name: String) {
            self.loop = loop
            self.name = name
        }
    }

    // MARK: Turns

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        while !isStopping || !finish() {
            let count = poll.wait(milliseconds: timeToSleep())
            isAsleep.store(false, ordering: .relaxed)
            for index in 0..<count { report(poll[index]) }
            goOnReading()
            takeInbox()
            runTimers()
            runTasks()
            endTurn()
        }
        onStopped?()
    }

    private func report(_ event: EpollSet.Event) {
        let descriptor = Int(event.descriptor)
        guard watched[descriptor].generation == event.generation else { return }
        watched[descriptor].handler?.ready(event.events)
    }

    /// Returns the longest wait for events in milliseconds, rounded up; -1: no limit.
    private func timeToSleep() -> Int32 {
        guard tasks.isEmpty, ending.isEmpty, unfinished.isEmpty, !isStopping else { return 0 }
        var time: Int32 = -1
        if let deadline = timers.first?.deadline {
            let nanoseconds = (deadline - .now()).nanoseconds
            guard nanoseconds > 0 else { return 0 }
            time = Int32(clamping: (nanoseconds + 999_999) / 1_000_000)
        }
        // From here on, a thread that fills the inbox sees that the loop is asleep, and wakes it.
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        return inboxIsFilled.load(ordering: .sequentiallyConsistent) ? 0 : time
    }

    private func goOnReading() {
        guard !unfinished.isEmpty else { return }
        var channels = unfinished.begin()
        for channel in channels { channel.goOn() }
        TurnList.clear(&channels)
        unfinished.end(channels)
    }

    private func runTasks() {
        guard !tasks.isEmpty else { return }
        var turn = tasks.begin()
        for task in turn { task.run() }
        TurnList.clear(&turn)
        tasks.end(turn)
    }

    private func endTurn() {
        guard !ending.isEmpty else { return }
        var works = ending.begin()
        for work in works { work.endTurn() }
        TurnList.clear(&works)
        ending.end(works)
    }

    private func takeInbox() {
        guard inboxIsFilled.load(ordering: .relaxed), inboxIsFilled.exchange(false, ordering: .acquiring) else {
            return
        }
        var taken: [@Sendable () -> Void] = []
        inbox.withLock { swap(&$0.tasks, &taken) }
        for task in taken { tasks.append(LoopTask(run: task)) }
    }

    private func runTimers() {
        guard let first = timers.first else { return }
        let now = NIODeadline.now()
        guard first.deadline <= now else { return }
        var due: [LoopTimer] = []
        while let timer = timers.first, timer.deadline <= now {
            timers.remove(timer)
            due.append(timer)
        }
        // One of them may cancel another.
        for timer in due where !timer.isCancelled { timer.end(.due) }
    }

    /// Calls `work` at the end of this turn, once.
    ///
    /// - Precondition: on the loop.
    package func atEndOfTurn(_ work: any EndOfTurnWork) { ending.append(work) }

    /// Lets `channel` continue reading in the next turn.
    func goOnLater(_ channel: SocketChannel) { unfinished.append(channel) }

    // MARK: Descriptors

    /// Reports the events of a descriptor to `handler` until ``forget(_:)`` or ``unwatch(_:)``.
    ///
    /// - Precondition: on the loop, or before it runs.
    package func watch(
        _ descriptor: Int32, for events: ReadyEvents, _ handler: any ReadinessHandler
    ) throws(IOError) {
        let index = Int(descriptor)
        while watched.count <= index { watched.append(Watched()) }
        watched[index].generation &+= 1
        try poll.add(descriptor, generation: watched[index].generation, events)
        watched[index].handler = handler
    }

    /// Changes the events that a watched descriptor is watched for.
    package func watch(_ descriptor: Int32, for events: ReadyEvents) throws(IOError) {
        try poll.change(descriptor, generation: watched[Int(descriptor)].generation, events)
    }

    /// Stops reporting events of a descriptor that is about to be closed, which removes it from the kernel's set.
    func forget(_ descriptor: Int32) {
        watched[Int(descriptor)].handler = nil
        watched[Int(descriptor)].generation &+= 1
    }

    /// Stops watching a descriptor that stays open.
    package func unwatch(_ descriptor: Int32) {
        forget(descriptor)
        poll.remove(descriptor)
    }

    // MARK: Tasks

    /// Schedules a timer on the loop.
    func add(_ timer: LoopTimer) {
        guard !timer.isCancelled else { return }
        if isStopping { timer.end(.stopped) } else { timers.insert(timer) }
    }

    func cancel(_ timer: LoopTimer) {
        timer.isCancelled = true
        timers.remove(timer)
    }

    func append(_ task: @escaping () -> Void) { tasks.append(LoopTask(run: task)) }

    /// - Returns: false if the loop has ended.
    func send(_ task: @escaping @Sendable () -> Void) -> Bool {
        let isOpen = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.tasks.append(task)
            return true
        }
        guard isOpen else { return false }
        inboxIsFilled.store(true, ordering: .sequentiallyConsistent)
        if isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
            var one: UInt64 = 1
            // The write fails only if the counter is full, and then the loop is already being woken.
            _ = write(alarm, &one, MemoryLayout<UInt64>.size)
        }
        return true
    }

    /// Whether the caller runs on this loop's thread. It is not inlined, so that the thread is determined anew after a
    /// suspension; see `Locked`.
    @inline(never)
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    // MARK: End

    /// Stops the loop asynchronously: its channels are closed, its timers fail, and later tasks are discarded.
    func stop(_ done: @escaping @Sendable () -> Void) {
        let isBegun = send {
            self.isStopping = true
            self.onStopped = done
        }
        if !isBegun { done() }
    }

    /// Waits until the thread has ended, after ``stop(_:)`` has called back. Until then the thread retains the loop and
    /// the resources of its connections. Only the first call waits.
    func join() {
        let handle = joinable.exchange(0, ordering: .acquiringAndReleasing)
        if handle != 0 { pthread_join(pthread_t(handle), nil) }
    }

    /// - Returns: whether no work is left.
    private func finish() -> Bool {
        for watched in watched { watched.handler?.stop() }
        while let timer = timers.first {
            timers.remove(timer)
            timer.end(.stopped)
        }
        takeInbox()
        guard tasks.isEmpty, ending.isEmpty else { return false }
        let isEmpty = inbox.withLock { inbox in
            inbox.isClosed = inbox.tasks.isEmpty
            return inbox.isClosed
        }
        if isEmpty { thread.store(0, ordering: .releasing) }
        return isEmpty
    }
}

extension EventLoop {
    /// Calls `work` at the end of this turn; see ``SocketEventLoop/atEndOfTurn(_:)``. Other loops, as in tests, call it
    /// with their next tasks.
    ///
    /// - Precondition: on the loop.
    package func callAtEndOfTurn(_ work: any EndOfTurnWork) {
        if let loop = self as? SocketEventLoop { return loop.atEndOfTurn(work) }
        let bound = NIOLoopBound(work, eventLoop: self)
        execute { bound.value.endTurn() }
    }
}

/// Work for the end of a turn of the loop.
package protocol EndOfTurnWork: AnyObject {
    /// Called once for each ``SocketEventLoop/atEndOfTurn(_:)``, on the loop.
    func endTurn()
}
