import HTTP1
import HTTPTypes
import NIOCore
import NIOEmbedded
import Pipeline
import Testing

@testable import Listener

@Suite("Flushes at the end of the turn")
struct EndOfTurnFlushesTests {
    @Test("What a flush adds is flushed in the next turn, whatever else waits in this one", arguments: [false, true])
    func addedByFlush(withConnection: Bool) throws {
        let wire = try HTTP2Wire()
        let flushes = wire.connections.flushes
        let shared = SharedListenerSettings(ListenerSettings(host: "127.0.0.1", port: 0))
        func handler(_ codec: CountingCodec) -> ExchangeHandler {
            ExchangeHandler(wire.service, shared, codec: codec, flushes: flushes, peer: "203.0.113.7")
        }
        let (first, second, third) = (CountingCodec(), CountingCodec(), CountingCodec())
        let (later, last) = (handler(second), handler(third))
        first.onFlush = { flushes.add(later) }
        flushes.add(handler(first))
        if withConnection { wire.connection.scheduleFlush() }
        wire.loop.run()
        #expect(first.flushes == 1 && second.flushes == 1)
        flushes.add(last)
        wire.loop.run()
        #expect(third.flushes == 1)
        #expect(first.flushes == 1 && second.flushes == 1)
    }
}

private final class CountingCodec: MessageCodec {
    var exchanges: ExchangeHandler?
    var onFlush: () -> Void = {}
    private(set) var flushes = 0

    func flushEnded() {
        flushes += 1
        onFlush()
    }

    func write(_ part: ResponsePart) {}
    func flush() {}
    func resume() {}
    func breakOff() {}
    func responseWaits() -> Bool { false }
    let httpVersion = ClientProtocol.HTTPVersion.http11
    let sendsLines = false
    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool) {}
}
