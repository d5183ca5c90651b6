import HTTPTypes
import Listener
import NIOCore
import NIOEmbedded
import Pipeline

/// Answers requests in the ways a gateway does. The path's first letter says which.
final class FuzzService: RequestService {
    private var paused: [ObjectIdentifier: FuzzExchange] = [:]
    private(set) var openStreams = 0
    var waitingResponses = 0
    let accounts: AccountCalls?

    private let loop: EmbeddedEventLoop

    init(loop: EmbeddedEventLoop, accounts: AccountCalls?) {
        self.loop = loop
        self.accounts = accounts
    }

    /// Calls it in the loop's next turn.
    func answerLater(_ body: @escaping () -> Void) {
        loop.assumeIsolatedUnsafeUnchecked().execute(body)
    }

    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        FuzzExchange(self, request, writer)
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        let body = ByteBuffer(string: fault.reason.code)
        let head = HTTPResponse(
            status: fault == .requestTimeout ? .requestTimeout : .badRequest,
            headerFields: [.contentLength: String(body.readableBytes)])
        return (head, body)
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) {
        if refusal == .addressLimit { fatalError("a closed connection still counts for its address") }
    }
    func connectionOpened() {}
    func connectionClosed() {}
    func connectionFailed(_ error: HTTP2ConnectionError) {}
    func connectionEvicted() {}
    func streamOpened() { openStreams += 1 }
    func streamClosed() { openStreams -= 1 }

    func pause(_ exchange: FuzzExchange) { paused[ObjectIdentifier(exchange)] = exchange }
    func forget(_ exchange: FuzzExchange) { paused[ObjectIdentifier(exchange)] = nil }

    /// Lets exchanges that held bodies back take more of them.
    func resume() {
        let resumed = paused.values
        paused.removeAll()
        for exchange in resumed { exchange.resume() }
    }
}

/// One request.
final class FuzzExchange: ExchangeSink {
    private enum Kind { case answer, later, echo, collect, pause, large, tunnel, never, breakOff }

    private static let part = ByteBuffer(repeating: 0x61, count: 16 << 10)
    /// As the account endpoints take.
    private static let longestBody = 64 << 10

    private unowned let service: FuzzService
    private let kind: Kind
    private let path: String
    private let demand: BodyDemand
    private var writer: ResponseWriter?
    private var bodyWriter: ResponseBodyWriter?
    private var body: [UInt8] = []
    private var partsLeft = 0

    init(_ service: FuzzService, _ request: consuming InboundRequest, _ writer: consuming ResponseWriter) {
        self.service = service
        path = request.head.path ?? ""
        demand = writer.bodyDemand
        self.writer = consume writer
        switch path.utf8.dropFirst().first {
        case UInt8(ascii: "d"): kind = .later
        case UInt8(ascii: "e"): kind = .echo
        case UInt8(ascii: "c"): kind = .collect
        case UInt8(ascii: "p"): kind = .pause
        case UInt8(ascii: "l"): kind = .large
        case UInt8(ascii: "w"): kind = .tunnel
        case UInt8(ascii: "n"): kind = .never
        case UInt8(ascii: "b"): kind = .breakOff
        default: kind = .answer
        }
        begin()
    }

    private func begin() {
        switch kind {
        case .answer: answer(.ok, "ok")
        case .later: service.answerLater { [weak self] in self?.answer(.ok, "ok") }
        case .echo, .breakOff: start(.ok)
        case .tunnel: start(.switchingProtocols)
        case .large:
            partsLeft = 16
            start(.ok)
            writeParts()
        case .collect, .pause, .never: break
        }
    }

    func receive(_ part: ByteBuffer) -> Bool {
        switch kind {
        case .echo, .tunnel:
            let isWritable = bodyWriter?.stream.write(part) ?? true
            bodyWriter?.stream.flush()
            if !isWritable { service.pause(self) }
            return isWritable
        case .collect:
            if body.count + part.readableBytes > Self.longestBody { answer(.contentTooLarge, "too long") }
            if writer != nil { body += part.readableBytesView }
            return true
        case .pause:
            service.pause(self)
            return false
        case .breakOff:
            bodyWriter.take()?.breakOff()
            return true
        case .answer, .later, .large, .never: return true
        }
    }

    func receiveEnd() {
        service.forget(self)
        switch kind {
        case .echo, .tunnel, .breakOff: bodyWriter.take()?.end()
        case .collect: finishCollecting()
        case .pause: answer(.noContent, "")
        case .answer, .later, .large, .never: break
        }
    }

    private func finishCollecting() {
        guard let accounts = service.accounts else { return answer(.ok, String(body.count)) }
        let (status, text) = accounts.answer(path, body)
        body = []
        answer(status, text)
    }

    func resume() { demand.resume() }

    func clientIsWritable(_ isWritable: Bool) {
        if isWritable { writeParts() }
    }

    func requestFailed(_ fault: ListenerFault) {
        service.forget(self)
        answer(fault == .requestTimeout ? .requestTimeout : .badRequest, fault.reason.code)
    }

    func clientDisconnected() {
        service.forget(self)
        writer = nil
        bodyWriter = nil
    }

    func mustClose() { bodyWriter.take()?.end() }

    func responseWaits() -> (() -> Void)? {
        service.waitingResponses += 1
        return { [service] in service.waitingResponses -= 1 }
    }

    // MARK: Answering

    private func answer(_ status: HTTPResponse.Status, _ text: String) {
        let fields: HTTPFields = status == .noContent ? [:] : [.contentLength: String(text.utf8.count)]
        writer.take()?.answer(HTTPResponse(status: status, headerFields: fields), ByteBuffer(string: text))
    }

    private func start(_ status: HTTPResponse.Status) {
        guard let writer = writer.take() else { return }
        bodyWriter = writer.start(HTTPResponse(status: status))
    }

    private func writeParts() {
        guard kind == .large else { return }
        while partsLeft > 0 {
            partsLeft -= 1
            guard let writer = bodyWriter?.stream, writer.write(Self.part) else { break }
        }
        bodyWriter?.stream.flush()
        if partsLeft == 0 { bodyWriter.take()?.end() }
    }
}
