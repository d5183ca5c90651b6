import Pipeline
import Testing

@testable import Accounts
@testable import Telemetry

@Suite("Reason codes of requests")
struct ReasonCodeTests {
    @Test("What is expected of account calls is of the closed lists")
    func expectedCalls() {
        let expected = AccountTally.Key.expected
        #expect(expected.count == Set(expected).count)
        #expect(Set(expected.map(\.reason)).subtracting(Reason.codes) == [""])
        let operations = Set(CognitoAccounts.operations.map(\.name))
        #expect(Set(expected.filter { $0.result == "success" }.map(\.operation)) == operations)
        #expect(Set(expected.filter { $0.result == "refused" }.map(\.operation)) == operations)
    }
}
