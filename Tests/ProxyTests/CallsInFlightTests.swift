import Testing

@testable import Proxy

@Suite("Calls under way")
struct CallsInFlightTests {
    @Test("A wait ends with the last call, or at its deadline, and at once where there is no call")
    func wait() async {
        let calls = CallsInFlight()
        let farAway = ContinuousClock.now + .seconds(3600)
        await calls.wait(until: farAway)
        calls.begin()
        calls.begin()
        calls.end()
        await calls.wait(until: .now)
        let (first, second) = (Task { await calls.wait(until: farAway) }, Task { await calls.wait(until: farAway) })
        calls.end()
        await first.value
        await second.value
    }
}
