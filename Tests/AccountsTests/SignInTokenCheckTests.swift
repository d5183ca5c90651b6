import Cryptography
import Locking
import Pipeline
import TestSupport
import Testing

@testable import Accounts

@Suite("The first tokens of a sign-in")
struct SignInTokenCheckTests {
    /// Verdicts in their order, and the tokens that they were asked for.
    private final class Judge: Sendable {
        private let state: Locked<(verdicts: [SignInTokenCheck.Verdict], tokens: [String])>

        init(_ verdicts: [SignInTokenCheck.Verdict]) { state = Locked((verdicts, [])) }

        var tokens: [String] { state.withLock { $0.tokens } }

        func verdict(_ token: Secret) -> SignInTokenCheck.Verdict {
            state.withLock { state in
                state.tokens.append(token.exposeText())
                return state.verdicts.removeFirst()
            }
        }
    }

    private static func check(_ judge: Judge, _ log: CapturedLog = CapturedLog()) -> SignInTokenCheck {
        SignInTokenCheck(issuer: "pool", clientID: "client", logger: log.logger) { judge.verdict($0) }
    }

    @Test("Nobody looks at a token after one was accepted, and the log says nothing")
    func accepted() async {
        let (judge, log) = (Judge([.accepted]), CapturedLog())
        let check = Self.check(judge, log)
        await check.note(Secret("first"))?.value
        #expect(check.note(Secret("second")) == nil)
        #expect(judge.tokens == ["first"] && log.lines.isEmpty && check.refusal == nil)
    }

    @Test("A refusal is logged once at error level, stays, and ends with an accepted token")
    func refused() async throws {
        let judge = Judge([
            .undecided, .refused(.unknownIssuer, []), .refused(.unknownIssuer, []), .undecided,
            .refused(.clientNotAllowed, []), .accepted,
        ])
        let log = CapturedLog()
        let check = Self.check(judge, log)
        await check.note(Secret("0"))?.value
        #expect(check.refusal == nil && log.lines.isEmpty)
        for number in 1...3 {
            await check.note(Secret("\(number)"))?.value
            #expect(check.refusal?.text == "unknown-issuer")
        }
        #expect(log.lines.count == 1)
        #expect(log.lines[0].hasPrefix("error the gateway refuses the tokens of its own sign-in"))
        await check.note(Secret("4"))?.value
        #expect(check.refusal?.reason == .clientNotAllowed && log.lines.count == 2)
        await check.note(Secret("5"))?.value
        #expect(check.refusal == nil)
        #expect(log.lines.last?.hasPrefix("notice the pool's tokens are accepted now") == true)
        #expect(check.note(Secret("6")) == nil)
    }
}
