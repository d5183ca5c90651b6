import Testing

@testable import Listener
@testable import Proxy

@Suite("The course of a request")
struct ExchangeStateTests {
    typealias Event = ModelExchange.Event
    typealias Deed = ModelExchange.Deed

    private static func deeds(
        hasBody: Bool = true, limit: Int = .max, _ events: [Event]
    ) -> [Deed] {
        var exchange = ModelExchange(hasBody: hasBody, bodyLimit: limit)
        exchange.take(events)
        return exchange.deeds
    }

    // MARK: A backend

    @Test("A request without a body is answered by its backend, and its end says nothing")
    func withoutBody() {
        #expect(
            Self.deeds(hasBody: false, [.forward, .end, .responded, .finished]) == [.begin, .record, .endResponse])
    }

    @Test("A body goes to the backend as it comes")
    func body() {
        #expect(
            Self.deeds([.forward, .part, .part, .end, .responded, .finished])
                == [.pass([0]), .pass([1]), .finishBody, .begin, .record, .endResponse])
    }

    @Test("A backend may respond while the body comes, and the body still goes to it")
    func earlyResponse() {
        #expect(
            Self.deeds([.forward, .part, .responded, .part, .end, .finished])
                == [.pass([0]), .begin, .pass([1]), .finishBody, .record, .endResponse])
    }

    @Test("What comes of a body after the response has ended is ignored")
    func lateBody() {
        #expect(
            Self.deeds([.forward, .part, .responded, .finished, .part, .end])
                == [.pass([0]), .begin, .record, .endResponse])
    }

    @Test("A backend that fails before it responds is answered for; one that fails later breaks the response off")
    func failingBackend() {
        #expect(Self.deeds([.forward, .failed]) == [.record, .answer(502)])
        #expect(Self.deeds([.forward, .responded, .failed]) == [.begin, .record, .breakOff])
    }

    @Test("A head is sent once")
    func secondHead() {
        #expect(Self.deeds([.forward, .responded, .responded]) == [.begin])
        #expect(Self.deeds([.open, .responded, .declined, .responded]) == [.begin])
        #expect(Self.deeds([.responded]) == [])
    }

    @Test("No response ends before it has begun")
    func endWithoutBeginning() {
        #expect(Self.deeds([.forward, .finished]) == [])
        #expect(Self.deeds([.open, .tunnelEnded]) == [])
        // And no WebSocket is declined that was opened.
        #expect(Self.deeds([.open, .responded, .declined, .tunnelEnded]) == [.begin, .record, .endResponse])
    }

    // MARK: Limits

    @Test(
        "An announced length is refused from the first byte above the limit",
        arguments: [
            (.none, 0, false), (.unknownLength, 0, false), (.length(5), 5, false), (.length(6), 5, true),
            (.length(0), 0, false), (.length(.max), .max, false),
        ] as [(RequestBody, Int, Bool)])
    func announcedLength(body: RequestBody, limit: Int, exceeds: Bool) {
        #expect(body.exceeds(limit) == exceeds)
    }

    @Test("A body that grows too long cancels the backend's part and is refused; up to the limit it passes")
    func tooLong() {
        #expect(
            Self.deeds(limit: 2, [.forward, .part, .part, .end]) == [.pass([0]), .pass([1]), .finishBody])
        #expect(
            Self.deeds(limit: 2, [.forward, .part, .part, .part, .part, .end])
                == [.pass([0]), .pass([1]), .cancelUpstream, .record, .answer(413)])
    }

    @Test("A body that grows too long after the response has begun breaks it off")
    func tooLongAfterResponse() {
        #expect(
            Self.deeds(limit: 1, [.forward, .responded, .part, .part, .part])
                == [.begin, .pass([0]), .cancelUpstream, .record, .breakOff])
    }

    // MARK: Keys

    @Test("A body waits while a key is looked up, then goes on once and as a whole, and its end after it")
    func bufferedBody() {
        var exchange = ModelExchange()
        exchange.take([.lookUpKeys, .part, .part])
        exchange.lookedUp(then: .forward)
        exchange.take([.part, .end])
        #expect(exchange.deeds == [.hold(0), .hold(1), .pass([0, 1]), .pass([2]), .finishBody])

        exchange = ModelExchange()
        exchange.take([.lookUpKeys, .part, .end])
        exchange.lookedUp(then: .callEndpoint)
        #expect(exchange.deeds == [.hold(0), .collect([0]), .perform])
    }

    @Test("A held body that is too long is refused when it is known where it would go")
    func heldBodyTooLong() {
        var exchange = ModelExchange(bodyLimit: 1)
        exchange.take([.lookUpKeys, .part, .part, .end])
        exchange.lookedUp(then: .forward)
        #expect(exchange.deeds == [.hold(0), .hold(1), .cancelUpstream, .record, .answer(413)])
    }

    @Test("A held body of a request that is refused goes nowhere")
    func heldAndRefused() {
        var exchange = ModelExchange()
        exchange.take([.lookUpKeys, .part, .end])
        exchange.lookedUp(then: .refuse)
        #expect(exchange.deeds == [.hold(0), .record, .answer(403)])
    }

    @Test("Keys that are found after the client has gone, or its request has failed, change nothing")
    func keysTooLate() {
        for (event, deeds) in [(.disconnect, [.record]), (.requestFailed, [.record, .answer(400)])]
            as [(Event, [Deed])]
        {
            var exchange = ModelExchange()
            exchange.take([.lookUpKeys, event])
            exchange.lookedUp(then: .forward)
            #expect(exchange.deeds == deeds)
        }
    }

    // MARK: Calls

    @Test("A call is carried out once its body has ended, and at once without one")
    func calls() {
        for call in [Event.callEndpoint, .callDirect] {
            #expect(
                Self.deeds([call, .part, .part, .end, .callAnswered])
                    == [.collect([0]), .collect([1]), .perform, .record, .answer(200)])
            #expect(Self.deeds(hasBody: false, [call, .end, .callAnswered]) == [.perform, .record, .answer(200)])
        }
    }

    @Test("A call of an endpoint with too long a body is refused; a direct one is carried out with a part too many")
    func longCalls() {
        let events: [Event] = [.part, .part, .part, .end, .callAnswered]
        #expect(Self.deeds(limit: 1, [.callEndpoint] + events) == [.collect([0]), .record, .answer(413)])
        #expect(
            Self.deeds(limit: 1, [.callDirect] + events)
                == [.collect([0]), .collect([1]), .perform, .record, .answer(200)])
    }

    @Test("A sign-in that a backend decides about goes there with the body that was collected")
    func forwardedSignIn() {
        var exchange = ModelExchange()
        exchange.take([.callEndpoint, .part, .end])
        exchange.forwardCall()
        exchange.take([.responded, .finished])
        #expect(
            exchange.deeds
                == [.collect([0]), .perform, .pass([0]), .finishBody, .begin, .record, .endResponse])
    }

    @Test("The answer of a call whose client has gone is of no use")
    func lateAnswer() {
        #expect(Self.deeds([.callEndpoint, .end, .disconnect, .callAnswered]) == [.perform, .record])
        var exchange = ModelExchange()
        exchange.take([.callEndpoint, .end, .disconnect])
        exchange.forwardCall()
        #expect(exchange.deeds == [.perform, .record])
    }

    // MARK: The client's end

    @Test(
        "A client that goes takes its backend's part with it, and is recorded once",
        arguments: [
            ([.lookUpKeys], [.record]),
            ([.forward], [.cancelUpstream, .record]),
            ([.forward, .responded], [.begin, .cancelUpstream, .record]),
            ([.forward, .responded, .finished], [.begin, .record, .endResponse]),
            ([.forward, .failed], [.record, .answer(502)]),
            ([.open], [.cancelTunnel, .record]),
            ([.open, .responded], [.begin, .cancelTunnel, .record]),
            ([.open, .declined], [.begin, .cancelUpstream, .record]),
            ([.callEndpoint], [.record]),
            ([.refuse], [.record, .answer(403)]),
        ] as [([Event], [Deed])])
    func disconnects(before: [Event], deeds: [Deed]) {
        #expect(Self.deeds(before + [.disconnect, .disconnect]) == deeds)
    }

    @Test(
        "A request that fails is refused and its backend's part cancelled, unless a response has begun",
        arguments: [
            ([.forward, .part], [.pass([0]), .cancelUpstream, .record, .answer(400)]),
            ([.open], [.cancelTunnel, .record, .answer(400)]),
            ([.callEndpoint, .part], [.collect([0]), .record, .answer(400)]),
            ([.forward, .responded], [.begin]),
            ([.open, .responded], [.begin]),
            ([.refuse], [.record, .answer(403)]),
        ] as [([Event], [Deed])])
    func failedRequests(before: [Event], deeds: [Deed]) {
        #expect(Self.deeds(before + [.requestFailed]) == deeds)
    }

    // MARK: WebSockets

    @Test("A WebSocket's bytes go through it in both phases, and so does the end of the client's half")
    func tunnel() {
        #expect(
            Self.deeds(hasBody: false, [.open, .end, .part, .responded, .part, .end, .tunnelEnded])
                == [
                    .endTunnelInput, .passThrough([0]), .begin, .passThrough([1]), .endTunnelInput, .record,
                    .endResponse,
                ])
    }

    @Test("A declined WebSocket is a response like any other")
    func declinedTunnel() {
        #expect(Self.deeds([.open, .declined, .finished]) == [.begin, .record, .endResponse])
        #expect(Self.deeds([.open, .declined, .failed]) == [.begin, .record, .breakOff])
        #expect(Self.deeds([.open, .failed]) == [.record, .answer(502)])
    }

    // MARK: Others

    @Test("Only a request that is undecided, refused or carried out has a response of the gateway's own")
    func ownResponses() {
        #expect(Self.deeds([.refuse]) == [.record, .answer(403)])
        #expect(Self.deeds([.callEndpoint, .end, .refuse]) == [.perform, .record, .answer(403)])
        for course in [[.callEndpoint], [.forward], [.open], [.forward, .responded]] as [[Event]] {
            #expect(!Self.deeds(course + [.refuse]).contains(.answer(403)), "\(course)")
        }
    }

    @Test("A response takes a place while it waits for its client, unless there was no room for the request")
    func places() {
        var state = ModelExchange().state
        #expect(state.responseTakesPlace)
        state.turnAway()
        #expect(!state.responseTakesPlace)
        _ = state.answer()
        #expect(!state.responseTakesPlace)
    }

    @Test("The side that pauses for a slow client is the one that sends to it")
    func backpressure() {
        func side(_ events: [Event]) -> String {
            var exchange = ModelExchange()
            exchange.take(events)
            return switch exchange.state.backend {
            case .nobody: "nobody"
            case .upstream: "upstream"
            case .tunnel: "tunnel"
            }
        }
        #expect(side([]) == "nobody")
        #expect(side([.forward, .responded]) == "upstream")
        #expect(side([.open, .responded]) == "tunnel")
        #expect(side([.open, .declined]) == "upstream")
        #expect(side([.callEndpoint]) == "nobody")
        #expect(side([.forward, .responded, .finished]) == "nobody")
    }
}
