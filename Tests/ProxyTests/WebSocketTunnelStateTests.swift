import Testing

@testable import Pipeline
@testable import Proxy

@Suite("The course of a WebSocket")
struct WebSocketTunnelStateTests {
    typealias Event = ModelTunnel.Event
    typealias Deed = ModelTunnel.Deed

    private static func deeds(overHTTP1: Bool = true, _ events: [Event]) -> [Deed] {
        var tunnel = ModelTunnel(overHTTP1: overHTTP1)
        tunnel.take(events)
        return tunnel.deeds
    }

    private static let early = Event.alarm(isExpired: false, isIdle: false)
    private static let (clientFrame, clientHalf) = (ModelTunnel.fromClient(.whole), ModelTunnel.fromClient(.first))
    private static let (frame, half) = (ModelTunnel.fromBackend(.whole), ModelTunnel.fromBackend(.first))
    private static let otherHalf = ModelTunnel.fromBackend(.second)

    // MARK: Opening

    @Test("What the client sends before the backend has answered waits, and goes first")
    func held() {
        #expect(
            Self.deeds([.client(.first), .client(.second), .opened, .client(.whole), .backend(.whole)])
                == [.hold, .hold, .toBackend(Self.clientFrame), .toBackend(Self.clientFrame), .toClient(Self.frame)])
    }

    @Test("Before the backend has answered, an end is the client's over HTTP/2, and only the request's over HTTP/1.1")
    func earlyEnd() {
        let events: [Event] = [.client(.whole), .clientEnded, .opened]
        #expect(Self.deeds(overHTTP1: true, events) == [.hold, .toBackend(Self.clientFrame)])
        #expect(Self.deeds(overHTTP1: false, events) == [.hold, .toBackend(Self.clientFrame), .finishBackend])
    }

    @Test("A backend that declines sends a response, and the client's bytes go nowhere")
    func declined() {
        #expect(
            Self.deeds([.client(.whole), .declined, .client(.whole), .backend(.garbage), .finished])
                == [.hold, .respond(ModelTunnel.fromBackend(.garbage)), .responseEnded])
        #expect(Self.deeds([.failed]) == [.responseEnded])
        #expect(Self.deeds([.declined, .mustClose, .failed]) == [.responseEnded])
    }

    // MARK: Closing

    @Test("Between two frames, both sides get the Close frame at once")
    func closed() {
        let closed: [Deed] = [.closeToBackend(1001), .closeToClient(1001), .ended(.goingAway), .finishBackend]
        #expect(Self.deeds([.opened, .mustClose]) == closed)
        #expect(
            Self.deeds([.opened, .client(.whole), .backend(.whole), .mustClose])
                == [.toBackend(Self.clientFrame), .toClient(Self.frame)] + closed)
        #expect(Self.deeds([.opened, .mustClose, .mustClose, .backend(.whole), .client(.whole)]) == closed)
    }

    @Test("Within a frame, the client gets the Close frame behind it, and nothing after")
    func closedWithinFrame() {
        let before: [Deed] = [.toClient(Self.half), .closeToBackend(1001)]
        let after: [Deed] = [.toClient(Self.otherHalf), .closeToClient(1001), .ended(.goingAway), .finishBackend]
        for rest in [ModelTunnel.Bytes.second, .secondAndWhole] {
            #expect(Self.deeds([.opened, .backend(.first), .mustClose, .backend(rest)]) == before + after)
        }
    }

    @Test("A frame that does not end in time is broken off")
    func frameWithoutEnd() {
        #expect(
            Self.deeds([.opened, .backend(.first), .mustClose, Self.early, .backend(.second), Self.early])
                == [
                    .toClient(Self.half), .closeToBackend(1001), .brokenOff(.goingAway), .finishBackend, .cancelBackend,
                ])
    }

    @Test("Behind a Close frame of the backend's own, or what is no frame, the client gets none")
    func noPlaceForClose() {
        for bytes in [ModelTunnel.Bytes.close, .garbage] {
            #expect(
                Self.deeds([.opened, .backend(bytes), .mustClose])
                    == [
                        .toClient(ModelTunnel.fromBackend(bytes)), .closeToBackend(1001), .ended(.goingAway),
                        .finishBackend,
                    ])
        }
        // The frame that the Close frame waits for turns out to be the backend's own.
        #expect(
            Self.deeds([.opened, .backend(.closeFirst), .mustClose, .backend(.closeSecond)])
                == [
                    .toClient([0x88]), .closeToBackend(1001), .toClient([0]), .ended(.goingAway), .finishBackend,
                ])
    }

    @Test("The backend gets no Close frame within one of the client's, or once the client has ended its half")
    func backendIsNotTold() {
        let closed: [Deed] = [.closeToClient(1001), .ended(.goingAway)]
        #expect(
            Self.deeds([.opened, .client(.first), .mustClose])
                == [.toBackend(Self.clientHalf)] + closed + [.finishBackend])
        #expect(Self.deeds([.opened, .clientEnded, .mustClose]) == [.finishBackend] + closed)
    }

    @Test(
        "Each cause of a closing has its code and reason",
        arguments: [
            (.mustClose, 1001, .goingAway), (.alarm(isExpired: true, isIdle: false), 4401, .tokenExpired),
            (.alarm(isExpired: false, isIdle: true), 4408, .idle),
            // The token's end counts for more.
            (.alarm(isExpired: true, isIdle: true), 4401, .tokenExpired),
        ] as [(Event, UInt16, WebSocketEnd)])
    func causes(event: Event, code: UInt16, reason: WebSocketEnd) {
        #expect(
            Self.deeds([.opened, event])
                == [.closeToBackend(code), .closeToClient(code), .ended(reason), .finishBackend])
    }

    @Test("An alarm that rings early changes nothing")
    func earlyAlarm() {
        #expect(Self.deeds([.opened, Self.early, Self.early]) == [])
    }

    // MARK: Ends

    @Test("Once the client has ended its half the backend's bytes still come, for a while")
    func halfClosed() {
        #expect(
            Self.deeds([.opened, .clientEnded, .client(.whole), .backend(.whole), Self.early])
                == [.finishBackend, .toClient(Self.frame), .clientWasTooLate, .cancelBackend])
    }

    @Test("A backend that does not end after the client's side has is cancelled")
    func backendWithoutEnd() {
        #expect(
            Self.deeds([.opened, .mustClose, Self.early])
                == [.closeToBackend(1001), .closeToClient(1001), .ended(.goingAway), .finishBackend, .cancelBackend])
    }

    @Test(
        "The backend's end is the client's, in order or not, with the reason of a closing that was under way",
        arguments: [
            ([.opened, .finished], [.ended(nil)]),
            ([.opened, .failed], [.brokenOff(nil)]),
            ([.opened, .clientEnded, .finished], [.finishBackend, .ended(nil)]),
            (
                [.opened, .backend(.first), .mustClose, .finished],
                [.toClient(half), .closeToBackend(1001), .ended(.goingAway)]
            ),
            (
                [.opened, .backend(.first), .mustClose, .failed],
                [.toClient(half), .closeToBackend(1001), .brokenOff(.goingAway)]
            ),
            (
                [.opened, .mustClose, .failed],
                [.closeToBackend(1001), .closeToClient(1001), .ended(.goingAway), .finishBackend]
            ),
        ] as [([Event], [Deed])])
    func backendEnds(events: [Event], deeds: [Deed]) {
        #expect(Self.deeds(events + [.backend(.whole), .client(.whole), .mustClose, Self.early]).starts(with: deeds))
        #expect(Self.deeds(events) == deeds)
    }

    @Test("The backend ends once")
    func secondEnd() {
        var state = WebSocketTunnelState(requestEnds: true)
        let opens = state.backendAnswered(opens: true)
        let ends = [state.backendEnded(), state.backendEnded()]
        #expect(opens)
        #expect(ends == [.webSocket(nil), .ignore])
        #expect(!state.isOpen)
    }

    @Test("A client that goes takes the backend's part with it")
    func disconnects() {
        for before in [[], [.declined], [.opened], [.client(.whole)]] as [[Event]] {
            let deeds = Self.deeds(before)
            #expect(Self.deeds(before + [.disconnect, .opened, .backend(.whole)]) == deeds + [.cancelBackend])
        }
    }
}
