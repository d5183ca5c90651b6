import Testing

@testable import Telemetry

@Suite("Sampling of the access log")
struct AccessSamplerTests {
    @Test("Of a route's successes one in so many is logged, the first of them too; of others all")
    func routes() {
        var sampler = AccessSampler(everyOfRoute: [3, 1], everyOfPath: [:])
        let first = (0..<7).map { _ in sampler.leavesOut(route: 0, target: "/a", status: 200) }
        #expect(first == [false, true, true, false, true, true, false])
        for route in [1, nil] {
            let others = (0..<5).map { _ in sampler.leavesOut(route: route, target: "/a", status: 200) }
            #expect(!others.contains(true))
        }
    }

    @Test("What fails is always logged")
    func failures() {
        var sampler = AccessSampler(everyOfRoute: [100], everyOfPath: ["/health": 100])
        for status in [400, 404, 499, 500, 503] {
            let found = (0..<3).map { _ in sampler.leavesOut(route: 0, target: "/health", status: status) }
            #expect(!found.contains(true))
        }
    }

    @Test("A path is told without its query, exactly, and goes before its route")
    func paths() {
        var sampler = AccessSampler(everyOfRoute: [1], everyOfPath: ["/health": 2])
        let found = ["/health", "/health?a=b", "/health", "/healthy", "/health/x", "/health"].map {
            sampler.leavesOut(route: 0, target: $0, status: 200)
        }
        #expect(found == [false, true, false, false, false, true])
    }
}
