import Glibc
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Proxy
@testable import Telemetry

@Suite("Stalls of an event loop", .serialized, .timeLimit(.minutes(10)))
struct LoopWatchTests {
    /// Seconds of a clock.
    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Computes for so many seconds, however long the processors are busy with others meanwhile.
    static func compute(_ seconds: Double) {
        let end = Self.seconds(CLOCK_THREAD_CPUTIME_ID) + seconds
        while Self.seconds(CLOCK_THREAD_CPUTIME_ID) < end {}
    }

    /// Lets a loop compute for so long at a time, and says how many stalls were counted.
    ///
    /// - Parameters:
    ///   - seconds: what it computes itself.
    ///   - stolen: how long it is kept besides, each time, by what the kernel does not count.
    static func stalls(of seconds: Double, times: Int, stolen: Double = 0) throws -> Int {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let metrics = LoopMetrics(MetricsLabels(routes: [], upstreams: [], denialReasons: []))
        metrics.connectionOpened()
        // A hypervisor may have the processor while a thread computes. None of the kernel's counts for a thread has that
        // time, so it is told to the watch.
        let lost = Delay()
        let watch = try loop.submit {
            let queue = RunQueueDelay()
            let watch = LoopWatch(loop, metrics: metrics) {
                (queue?.nanoseconds() ?? 0) + lost.nanoseconds.load(ordering: .relaxed)
            }
            return NIOLoopBound(watch, eventLoop: loop)
        }.wait()
        for number in 0..<times {
            // Each begins at another time after the watch has looked.
            let pause = TimeAmount.microseconds(20_000 + Int64(number) * 10_000 / Int64(times))
            try loop.scheduleTask(in: pause) {
                let queue = RunQueueDelay()
                // The count is read before and after the clock: what it has of a wait in between is not lost.
                let waited = queue?.nanoseconds() ?? 0
                let (began, start) = (NIODeadline.now(), Self.seconds(CLOCK_THREAD_CPUTIME_ID))
                Self.compute(seconds)
                usleep(UInt32(stolen * 1e6))
                let computed = Int64((Self.seconds(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9)
                let elapsed = (NIODeadline.now() - began).nanoseconds
                lost.add(elapsed - computed - ((queue?.nanoseconds() ?? 0) - waited))
            }.futureResult.wait()
        }
        // The last one is counted with the look after it.
        try loop.scheduleTask(in: .milliseconds(20)) {}.futureResult.wait()
        try loop.submit { watch.value.close() }.wait()
        return Int(metrics.stalls.value)
    }

    /// A loop and its watch.
    struct Watched {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let metrics = LoopMetrics(MetricsLabels(routes: [], upstreams: [], denialReasons: []))
        let watch: NIOLoopBound<LoopWatch>
        var loop: any EventLoop { group.next() }

        init(delay: (@Sendable () -> Int64)? = nil) throws {
            let (loop, metrics) = (group.next(), metrics)
            watch = try loop.submit {
                NIOLoopBound(LoopWatch(loop, metrics: metrics, delay: delay), eventLoop: loop)
            }.wait()
        }

        func close() throws {
            try loop.submit { [watch] in watch.value.close() }.wait()
            try group.syncShutdownGracefully()
        }

        /// Lets the loop be silent for so long.
        func pass(milliseconds: Int64) throws {
            try loop.scheduleTask(in: .milliseconds(milliseconds)) {}.futureResult.wait()
        }

        /// How often the loop has gone to sleep.
        func sleeps() throws -> Int {
            try loop.submit {
                var usage = rusage()
                _ = unsafe getrusage(1, &usage)  // RUSAGE_THREAD (getrusage(2)), which Glibc does not export
                return usage.ru_nvcsw
            }.wait()
        }
    }

    /// A count of the kernel's in the hands of a test.
    private final class Delay: Sendable {
        let nanoseconds = Atomic(Int64(0))

        func add(_ more: Int64) { nanoseconds.add(max(0, more), ordering: .relaxed) }
    }

    @Test("A stall is counted also where work comes late because others had the processors")
    func afterDelay() throws {
        let delay = Delay()
        let watched = try Watched(delay: { delay.nanoseconds.load(ordering: .relaxed) })
        watched.metrics.connectionOpened()
        var countedOnce = 0
        for number in 0..<10 {
            try watched.pass(milliseconds: 300 + Int64(number) * 10)
            let before = watched.metrics.stalls.value
            try watched.loop.submit {
                // Past the next look, whenever that is due, as far as the clock tells; all of it is others' time.
                let began = NIODeadline.now()
                while NIODeadline.now() - began < .milliseconds(110) {}
                delay.add((NIODeadline.now() - began).nanoseconds)
                watched.watch.value.workBegan()
                Self.compute(0.0505)
            }.wait()
            try watched.pass(milliseconds: 20)
            let counted = watched.metrics.stalls.value - before
            #expect(counted >= 1)
            if counted == 1 { countedOnce += 1 }
        }
        // The machine's own stalls come now and then.
        #expect(countedOnce >= 5)
        try watched.close()
    }

    @Test("A loop whose clients are silent is not woken a hundred times a second")
    func idle() throws {
        let watched = try Watched()
        for _ in 0..<100 { watched.metrics.connectionOpened() }
        try watched.pass(milliseconds: 200)
        let before = try watched.sleeps()
        try watched.pass(milliseconds: 500)
        #expect(try watched.sleeps() - before < 15)
        try watched.close()
    }

    @Test("A stall that ends a silence is counted, whenever in the silence it begins")
    func afterSilence() throws {
        let watched = try Watched()
        watched.metrics.connectionOpened()
        for number in 0..<10 {
            try watched.pass(milliseconds: 200 + Int64(number) * 10)
            let before = watched.metrics.stalls.value
            try watched.loop.submit {
                watched.watch.value.workBegan()
                Self.compute(0.0505)
            }.wait()
            try watched.pass(milliseconds: 20)
            #expect(watched.metrics.stalls.value == before + 1)
        }
        try watched.close()
    }

    @Test("A request that waits for its backend keeps the watch awake, and an open WebSocket does not")
    func waiting() throws {
        let watched = try Watched()
        watched.metrics.requestBegan()
        try watched.pass(milliseconds: 500)
        try watched.loop.submit {
            Self.compute(0.0505)
        }.wait()
        try watched.pass(milliseconds: 20)
        #expect(watched.metrics.stalls.value == 1)
        watched.metrics.webSocketOpened()
        try watched.pass(milliseconds: 200)
        let before = try watched.sleeps()
        try watched.pass(milliseconds: 500)
        #expect(try watched.sleeps() - before < 15)
        try watched.close()
    }

    @Test("Each of more than 50 ms is counted, whenever it begins, and none that is clearly shorter")
    func counted() throws {
        #expect(try Self.stalls(of: 0.0505, times: 20) == 20)
        #expect(try Self.stalls(of: 0.03, times: 20) == 0)
        #expect(try Self.stalls(of: 0.03, times: 3, stolen: 0.03) == 0)
    }
}
