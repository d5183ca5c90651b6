import Foundation
import Synchronization
import Testing

@testable import Accounts

@Suite("Number of gateways that share limits")
struct LimitGatewaysTests {
    /// How deep in the stack each question for the number of gateways came.
    private final class Depths: Sendable {
        private let depths = Mutex<[Int]>([])

        var all: [Int] { depths.withLock { $0 } }

        func note() {
            let depth = Thread.callStackReturnAddresses.count
            depths.withLock { $0.append(depth) }
        }
    }

    @Test("The hundredth call asks for it from as near as the first")
    func depth() async throws {
        let one = AccountLimitsTests()
        let limits = one.limits(try one.store())
        let depths = Depths()
        limits.share {
            depths.note()
            return 1
        }
        for number in 1...100 { _ = await one.reached(limits, one.signIn("user-\(number)@example.com")) }
        let all = depths.all
        let (first, last) = (try #require(all.first), try #require(all.last))
        #expect(all.count == 100)
        #expect(last < first + 20, "first \(first) frames, then \(last)")
    }
}
