import NIOCore
import SeededRandom
import Testing

@testable import Sockets

@Suite("Sockets: timers")
struct TimerHeapTests {
    @Test("Timers come out by their time, those of one time in the order of their making, and none that was taken out")
    func order() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            var heap = TimerHeap()
            var expected: [(time: UInt64, number: Int, timer: LoopTimer)] = []
            for number in 0..<Int.random(in: 1...60, using: &random) {
                let time = UInt64.random(in: 0...20, using: &random)
                let timer = LoopTimer(.uptimeNanoseconds(time)) { _ in }
                heap.insert(timer)
                expected.append((time, number, timer))
                guard Bool.random(using: &random), let place = expected.indices.randomElement(using: &random) else {
                    continue
                }
                heap.remove(expected[place].timer)
                heap.remove(expected[place].timer)
                expected.remove(at: place)
            }
            expected.sort { ($0.time, $0.number) < ($1.time, $1.number) }
            for next in expected {
                #expect(heap.first === next.timer)
                heap.remove(next.timer)
            }
            #expect(heap.first == nil)
        }
    }
}
