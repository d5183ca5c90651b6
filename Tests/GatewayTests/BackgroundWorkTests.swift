import Testing

@testable import Admin
@testable import Gateway

@Suite("Services beside requests", .timeLimit(.minutes(10)))
struct BackgroundWorkTests {
    /// The steps of all services of a test, in their order.
    private struct Steps {
        let stream: AsyncStream<String>
        let step: AsyncStream<String>.Continuation

        init() { (stream, step) = AsyncStream.makeStream(of: String.self) }

        func service(_ name: String, until gate: AsyncStream<Void>? = nil) -> SteppingService {
            SteppingService(name, step, until: gate)
        }

        func inOrder(_ count: Int) async -> [String] {
            var steps: [String] = []
            for await step in stream.prefix(count) { steps.append(step) }
            return steps
        }

        /// The next ones, sorted: tasks begin and end in any order.
        func next(_ count: Int) async -> [String] { await inOrder(count).sorted() }
    }

    /// Reports when it begins, is cancelled, and ends.
    private final class SteppingService: BackgroundService {
        private let name: String
        private let step: AsyncStream<String>.Continuation
        private let gate: AsyncStream<Void>?

        /// - Parameter gate: finishes when the service may end after it was cancelled; nil: at once.
        init(_ name: String, _ step: AsyncStream<String>.Continuation, until gate: AsyncStream<Void>?) {
            self.name = name
            self.step = step
            self.gate = gate
        }

        func run() async {
            step.yield("\(name) begins")
            for await _ in AsyncStream<Void>.makeStream().stream {}
            step.yield("\(name) is cancelled")
            // A cancelled task would not wait.
            if let gate { await Task { for await _ in gate {} }.value }
            step.yield("\(name) ends")
        }
    }

    @Test("A service begins once, goes on while it is listed, and is cancelled when it is not")
    func follow() async {
        let steps = Steps()
        let (a, b, c) = (steps.service("a"), steps.service("b"), steps.service("c"))
        var work = BackgroundWork()
        work.begin([a, b])
        #expect(await steps.next(2) == ["a begins", "b begins"])
        work.begin([b, c])
        work.end(except: [b, c])
        #expect(await steps.next(3) == ["a ends", "a is cancelled", "c begins"])
        work.end(except: [c, b])
        work.begin([c, b, a])
        #expect(await steps.next(1) == ["a begins"])
        work.end()
        await work.ending?.value
        #expect(
            await steps.next(6) == [
                "a ends", "a is cancelled", "b ends", "b is cancelled", "c ends", "c is cancelled",
            ])
    }

    @Test("A service is known by its identity: another object in its place begins, and the one before ends")
    func identity() async {
        let steps = Steps()
        var work = BackgroundWork()
        for _ in 1...20 {
            let services = [steps.service("same"), steps.service("same")]
            work.begin(services)
            #expect(await steps.next(2) == ["same begins", "same begins"])
            work.end(except: [])
            #expect(await steps.next(4).count == 4)
        }
        await work.ending?.value
    }

    /// Ends at once, and reports when nothing retains it any more.
    private final class ShortService: BackgroundService {
        private let step: AsyncStream<String>.Continuation

        init(_ step: AsyncStream<String>.Continuation) { self.step = step }

        func run() async { step.yield("runs") }

        deinit { step.yield("is gone") }
    }

    @Test("A service that has nothing left to do keeps its identity while it is listed, and begins no second time")
    func short() async {
        let steps = Steps()
        var work = BackgroundWork()
        for _ in 1...2 {
            let service = ShortService(steps.step)
            work.begin([service])
            #expect(await steps.next(1) == ["runs"])
            work.begin([service])
        }
        // Its task ends meanwhile, and retains it no more.
        for _ in 1...1000 { await Task.yield() }
        steps.step.yield("is cancelled")
        work.end()
        await work.ending?.value
        work = BackgroundWork()
        #expect(await steps.inOrder(3) == ["is cancelled", "is gone", "is gone"])
    }

    @Test("Whoever waits for the end waits for all that was cancelled, also before")
    func ending() async {
        let steps = Steps()
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let (slow, quick) = (steps.service("slow", until: gate), steps.service("quick"))
        var work = BackgroundWork()
        #expect(work.ending == nil)
        work.begin([slow, quick])
        #expect(await steps.next(2) == ["quick begins", "slow begins"])
        work.end(except: [quick])
        #expect(await steps.next(1) == ["slow is cancelled"])
        work.end()
        #expect(await steps.next(2) == ["quick ends", "quick is cancelled"])
        let waiting = Task { [ending = work.ending] in
            await ending?.value
            steps.step.yield("all have ended")
        }
        opening.finish()
        await waiting.value
        #expect(await steps.inOrder(2) == ["slow ends", "all have ended"])
    }

    @Test("Services of one kind are ended and waited for before the others")
    func first() async {
        let steps = Steps()
        let (first, other) = (steps.service("first"), steps.service("other"))
        var work = BackgroundWork()
        work.begin([other, first])
        #expect(await steps.next(2) == ["first begins", "other begins"])
        let tasks = work.end { $0 === first }
        #expect(tasks.count == 1)
        for task in tasks { await task.value }
        #expect(await steps.next(2) == ["first ends", "first is cancelled"])
        work.end()
        await work.ending?.value
        #expect(await steps.next(2) == ["other ends", "other is cancelled"])
    }
}
