import Glibc
import NIOCore
import NIOEmbedded
import Testing

@testable import Listener

@Suite("Listener: accepting pauses")
struct AcceptPauseTests {
    @Test("A quarter of the reserve may come in a burst, and after a pause one connection until there is room for it")
    func bursts() throws {
        var pauses = 0
        let listening = EmbeddedChannel(handler: AcceptPauseHandler(reserve: 32) { pauses += 1 })
        let accepted = [EmbeddedChannel(), EmbeddedChannel()]
        func burst() throws -> UInt? { try listening.syncOptions?.getOption(.maxMessagesPerRead) }
        #expect(try burst() == 8)
        listening.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept"))
        #expect(try burst() == 1)
        #expect(pauses == 1)
        // One of the same burst says nothing about what comes after the pause.
        try listening.writeInbound(accepted[0])
        #expect(try burst() == 1)
        listening.embeddedEventLoop.advanceTime(by: .milliseconds(500))
        #expect(try burst() == 1)
        try listening.writeInbound(accepted[1])
        #expect(try burst() == 8)
        for channel in accepted + [listening] { _ = try channel.finish() }
    }
}
