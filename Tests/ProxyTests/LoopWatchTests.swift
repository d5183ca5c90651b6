import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import Proxy
@testable import Telemetry

@Suite("Stalls of an event loop", .serialized, .timeLimit(.minutes(1)))
struct LoopWatchTests {
    /// Seconds of a clock.
    static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Lets a loop compute for so long at a time, and says how many stalls were counted.
    ///
    /// - Parameter seconds: what it computes itself, however long the processors are busy with others meanwhile.
    static func stalls(of seconds: Double, times: Int) throws -> Int {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let metrics = LoopMetrics(MetricsLabels(routes: [], upstreams: [], denialReasons: []))
        metrics.connectionOpened()
        let watch = try loop.submit { NIOLoopBound(LoopWatch(loop, metrics: metrics), eventLoop: loop) }.wait()
        for number in 0..<times {
            // Each begins at another time after the watch has looked.
            let pause = TimeAmount.microseconds(20_000 + Int64(number) * 10_000 / Int64(times))
            try loop.scheduleTask(in: pause) {
                let end = Self.seconds(CLOCK_THREAD_CPUTIME_ID) + seconds
                while Self.seconds(CLOCK_THREAD_CPUTIME_ID) < end {}
            }.futureResult.wait()
        }
        // The last one is counted with the look after it.
        try loop.scheduleTask(in: .milliseconds(20)) {}.futureResult.wait()
        try loop.submit { watch.value.close() }.wait()
        return Int(metrics.stalls.value)
    }

    @Test("Each of more than 50 ms is counted, whenever it begins, and none that is clearly shorter")
    func counted() throws {
        #expect(try Self.stalls(of: 0.0505, times: 20) == 20)
        #expect(try Self.stalls(of: 0.03, times: 20) == 0)
    }
}
