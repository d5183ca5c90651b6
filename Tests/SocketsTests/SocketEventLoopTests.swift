import Dispatch
import Glibc
import NIOCore
import Synchronization
import Testing

@testable import Sockets

@Suite("Sockets: event loops", .timeLimit(.minutes(10)))
struct SocketEventLoopTests {
    static func withLoop(_ body: (SocketEventLoop) async throws -> Void) async throws {
        let group = try SocketEventLoopGroup(count: 1)
        let result: Result<Void, any Error>
        do { result = .success(try await body(group.nextLoop())) } catch { result = .failure(error) }
        try await group.shutdownGracefully()
        try result.get()
    }

    @Test("Tasks from many threads run on the loop, those of one thread in their order")
    func tasks() async throws {
        try await Self.withLoop { loop in
            let seen = NIOLoopBoundBox.makeBoxSendingValue([Int: [Int]](), eventLoop: loop)
            await withTaskGroup(of: Void.self) { tasks in
                for sender in 0..<8 {
                    tasks.addTask {
                        for number in 0..<2000 {
                            loop.execute {
                                #expect(loop.inEventLoop)
                                seen.value[sender, default: []].append(number)
                            }
                        }
                    }
                }
            }
            let all = try await loop.submit { seen.value }.get()
            #expect(all.count == 8)
            for numbers in all.values { #expect(numbers == Array(0..<2000)) }
            #expect(!loop.inEventLoop)
        }
    }

    @Test("A loop for which no descriptor is left throws")
    func noDescriptorLeft() async {
        await #expect(processExitsWith: .exitCode(0)) {
            var limit = rlimit(rlim_cur: 3, rlim_max: 3)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            for _ in 0..<2 { #expect(throws: IOError.self) { try SocketEventLoopGroup(count: 1) } }
            exit(0)
        }
    }

    @Test("A sleeping loop wakes for a task each time")
    func waking() async throws {
        try await Self.withLoop { loop in
            for number in 0..<2000 {
                let same = try await loop.submit { number }.get()
                #expect(same == number)
            }
        }
    }

    @Test("Timers run in their order, not before their time, from any thread")
    func timers() async throws {
        try await Self.withLoop { loop in
            let ran = NIOLoopBoundBox.makeBoxSendingValue([Int64](), eventLoop: loop)
            let began = NIODeadline.now()
            let timers = [30, 10, 20, 0, 10].map { (milliseconds: Int64) in
                loop.scheduleTask(in: .milliseconds(milliseconds)) {
                    #expect(NIODeadline.now() - began >= .milliseconds(milliseconds))
                    ran.value.append(milliseconds)
                }
            }
            for timer in timers { try await timer.futureResult.get() }
            #expect(try await loop.submit { ran.value }.get() == [0, 10, 10, 20, 30])
        }
    }

    @Test("A cancelled timer does not run, whoever cancels it, and also when the one before it does")
    func cancelling() async throws {
        try await Self.withLoop { loop in
            let far = loop.scheduleTask(in: .milliseconds(20)) { Issue.record("ran though it was cancelled") }
            far.cancel()
            await #expect(throws: EventLoopError.cancelled) { try await far.futureResult.get() }
            let near = try await loop.submit {
                let later = loop.scheduleTask(in: .milliseconds(2)) {
                    Issue.record("ran though the timer before it has cancelled it")
                    return 2
                }
                _ = loop.scheduleTask(in: .milliseconds(1)) { later.cancel() }
                return later
            }.get()
            await #expect(throws: EventLoopError.cancelled) { _ = try await near.futureResult.get() }
            try await loop.scheduleTask(in: .milliseconds(30)) {}.futureResult.get()
        }
    }

    @Test("A repeated task that never ends leaves room for sockets and other tasks")
    func busyLoop() async throws {
        try await Self.withLoop { loop in
            let isStopped = Atomic(false)
            @Sendable func again() {
                if !isStopped.load(ordering: .relaxed) { loop.execute { again() } }
            }
            loop.execute { again() }
            let pipe = try await loop.submit { try WatchedPipe(loop) }.get()
            pipe.write()
            try await pipe.isReady.get()
            isStopped.store(true, ordering: .relaxed)
            try await loop.submit { pipe.close(loop) }.get()
        }
    }

    /// A pipe whose readable end the loop watches.
    private final class WatchedPipe: ReadinessHandler, Sendable {
        let ends: (read: Int32, write: Int32)
        let promise: EventLoopPromise<Void>
        var isReady: EventLoopFuture<Void> { promise.futureResult }

        init(_ loop: SocketEventLoop) throws {
            var descriptors: [Int32] = [0, 0]
            guard pipe(&descriptors) == 0 else { throw IOError(errnoCode: errno, reason: "pipe") }
            ends = (descriptors[0], descriptors[1])
            promise = loop.makePromise()
            try loop.watch(ends.read, for: [.readable, .edgeTriggered], self)
        }

        func write() { _ = Glibc.write(ends.write, "x", 1) }
        func ready(_ events: ReadyEvents) { promise.succeed() }

        func close(_ loop: SocketEventLoop) {
            loop.unwatch(ends.read)
            Glibc.close(ends.read)
            Glibc.close(ends.write)
        }
    }

    @Test("Work for the end of a turn runs in each turn that asks for it, and what it adds comes in the next")
    func ends() async throws {
        final class Work: EndOfTurnWork, @unchecked Sendable {
            let loop: SocketEventLoop
            var order: [String] = []
            init(_ loop: SocketEventLoop) { self.loop = loop }
            func endTurn() {
                order.append("end")
                if order.count < 5 {
                    loop.atEndOfTurn(self)
                    loop.execute { self.order.append("task") }
                }
            }
        }
        try await Self.withLoop { loop in
            let work = try await loop.submit {
                let work = Work(loop)
                loop.atEndOfTurn(work)
                return NIOLoopBound(work, eventLoop: loop)
            }.get()
            try await loop.scheduleTask(in: .milliseconds(5)) {}.futureResult.get()
            #expect(try await loop.submit { work.value.order }.get() == ["end", "task", "end", "task", "end"])
        }
    }

    @Test("The end of a group fails its timers, runs the tasks that are there, and throws later ones away")
    func shutDown() async throws {
        let group = try SocketEventLoopGroup(count: 2)
        let loop = group.nextLoop()
        let ran = Atomic(0)
        let failed = Atomic(false)
        loop.scheduleTask(in: .hours(1)) {}.futureResult.whenFailure { error in
            #expect(error as? EventLoopError == .shutdown)
            failed.store(true, ordering: .relaxed)
        }
        for _ in 0..<100 { loop.execute { ran.add(1, ordering: .relaxed) } }
        try await group.shutdownGracefully()
        #expect(ran.load(ordering: .relaxed) == 100)
        let hasFailed = failed.load(ordering: .relaxed)
        #expect(hasFailed)
        loop.execute { Issue.record("ran on a loop that has ended") }
    }

    @Test("With the end of a group its threads have let go of their loops")
    func threads() async throws {
        for _ in 0..<100 {
            weak var loop: SocketEventLoop?
            do {
                let group = try SocketEventLoopGroup(count: 2)
                loop = group.loops[0]
                try await group.shutdownGracefully()
            }
            #expect(loop == nil)
        }
    }
}
