import Testing

@testable import Pipeline
@testable import Proxy

/// All sequences of events up to a length, of a backend, a client and the gateway.
@Suite("Every order of a WebSocket's events")
struct WebSocketTunnelOrderTests {
    typealias Event = ModelTunnel.Event
    typealias Deed = ModelTunnel.Deed

    private static let length = 6

    private struct World {
        var tunnel: ModelTunnel
        var path: [Event] = []
        var fromBackend: [UInt8] = []
        var fromClient: [UInt8] = []
        var isAnswered = false
        var isOpen = false
        var clientIsThere = true
        var clientHasEnded = false
        /// The first of the gateway's reasons to close it.
        var cause: WebSocketEnd?

        let overHTTP1: Bool

        init(overHTTP1: Bool) {
            self.overHTTP1 = overHTTP1
            tunnel = ModelTunnel(overHTTP1: overHTTP1)
        }

        var possible: [Event] {
            guard tunnel.hasUpstream else { return [] }
            var events: [Event] = [.disconnect, .mustClose]
            if !clientHasEnded { events += [.client(.whole), .client(.first), .clientEnded] }
            guard isAnswered else { return events + [.opened, .declined, .failed] }
            events += [.backend(.whole), .backend(.first), .backend(.second), .backend(.close), .finished, .failed]
            if isOpen {
                events += [
                    .alarm(isExpired: false, isIdle: false), .alarm(isExpired: true, isIdle: false),
                    .alarm(isExpired: false, isIdle: true),
                ]
            }
            return events
        }

        mutating func take(_ event: Event) {
            path.append(event)
            switch event {
            case .opened: (isAnswered, isOpen) = (true, true)
            case .declined: isAnswered = true
            case .backend(let bytes): fromBackend += ModelTunnel.fromBackend(bytes)
            case .client(let bytes): fromClient += ModelTunnel.fromClient(bytes)
            // Before, it is the end of the request over HTTP/1.1.
            case .clientEnded: clientHasEnded = isOpen || !overHTTP1
            case .disconnect: clientIsThere = false
            case .mustClose: if isOpen { cause = cause ?? .goingAway }
            case .alarm(let isExpired, let isIdle):
                // When the client has ended its half, the alarm is for what is left of the backend's.
                if !clientHasEnded || cause != nil, isExpired || isIdle {
                    cause = cause ?? (isExpired ? .tokenExpired : .idle)
                }
            case .finished, .failed: break
            }
            tunnel.take(event)
        }
    }

    private static func explore(_ world: World, _ visit: (World) throws -> Void) rethrows {
        try visit(world)
        guard world.path.count < length else { return }
        for event in world.possible {
            var next = world
            next.take(event)
            // An event without consequences changes nothing about those that can follow.
            if next.tunnel == world.tunnel { try visit(next) } else { try explore(next, visit) }
        }
    }

    private static func everyWorld(_ visit: (World) throws -> Void) rethrows {
        for overHTTP1 in [true, false] { try explore(World(overHTTP1: overHTTP1), visit) }
    }

    private static func isEnd(_ deed: Deed) -> Bool {
        switch deed {
        case .ended, .brokenOff, .clientWasTooLate, .responseEnded: true
        default: false
        }
    }

    private static func toClient(_ deeds: [Deed]) -> [UInt8] {
        deeds.flatMap { deed -> [UInt8] in
            switch deed {
            case .toClient(let bytes), .respond(let bytes): bytes
            default: []
            }
        }
    }

    private static func toBackend(_ deeds: [Deed]) -> [UInt8] {
        deeds.flatMap { deed -> [UInt8] in if case .toBackend(let bytes) = deed { bytes } else { [] } }
    }

    /// Whether these are frames without a part of another, none of them longer than 125 bytes.
    private static func areFrames(_ bytes: [UInt8], areMasked: Bool) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard rest.count >= 2 else { return false }
            let size = 2 + (areMasked ? 4 : 0) + Int(rest[rest.startIndex + 1] & 0x7F)
            guard rest.count >= size else { return false }
            rest = rest.dropFirst(size)
        }
        return true
    }

    @Test("The client's side ends at most once, and gets nothing afterwards")
    func clientsEnd() throws {
        var count = 0
        try Self.everyWorld { world in
            count += 1
            let deeds = world.tunnel.deeds
            try #require(deeds.count(where: Self.isEnd) <= 1, "\(world.path)")
            guard let end = deeds.firstIndex(where: Self.isEnd) else { return }
            let after = Set(deeds[(end + 1)...])
            try #require(after.isSubset(of: [.finishBackend, .cancelBackend]), "\(world.path)")
        }
        #expect(count > 10_000)
    }

    @Test("The backend's part is cancelled at most once, as the last deed, and never after it has ended")
    func backendsEnd() throws {
        try Self.everyWorld { world in
            let deeds = world.tunnel.deeds
            try #require(deeds.count { $0 == .cancelBackend } <= 1, "\(world.path)")
            if let cancel = deeds.firstIndex(of: .cancelBackend) {
                try #require(cancel == deeds.count - 1, "\(world.path)")
                try #require(!world.path.contains(.finished) && !world.path.contains(.failed), "\(world.path)")
            }
        }
    }

    @Test("Bytes pass in order and none is left out, in either direction")
    func bytes() throws {
        try Self.everyWorld { world in
            let deeds = world.tunnel.deeds
            let (toClient, toBackend) = (Self.toClient(deeds), Self.toBackend(deeds))
            try #require(world.fromBackend.starts(with: toClient), "\(world.path)")
            try #require(world.fromClient.starts(with: toBackend), "\(world.path)")
            guard world.tunnel.hasUpstream, world.cause == nil else { return }
            try #require(toClient == world.fromBackend, "\(world.path)")
            if world.isOpen { try #require(toBackend == world.fromClient, "\(world.path)") }
        }
    }

    @Test("Close frames stand between frames, once in each direction, with the code of the cause")
    func closeFrames() throws {
        let codes: [WebSocketEnd: UInt16] = [.goingAway: 1001, .tokenExpired: 4401, .idle: 4408]
        try Self.everyWorld { world in
            let deeds = world.tunnel.deeds
            let code = world.cause.flatMap { codes[$0] }
            for (index, deed) in deeds.enumerated() {
                let before = Array(deeds[..<index])
                switch deed {
                case .closeToClient(let sent):
                    try #require(sent == code, "\(world.path)")
                    try #require(Self.areFrames(Self.toClient(before), areMasked: false), "\(world.path)")
                    try #require(deeds[(index + 1)...].first == .ended(world.cause), "\(world.path)")
                case .closeToBackend(let sent):
                    try #require(sent == code, "\(world.path)")
                    try #require(Self.areFrames(Self.toBackend(before), areMasked: true), "\(world.path)")
                    try #require(Self.toBackend(deeds) == Self.toBackend(before), "\(world.path)")
                case .ended(let reason?), .brokenOff(let reason?):
                    try #require(reason == world.cause, "\(world.path)")
                default: break
                }
            }
        }
    }

    @Test("A WebSocket that must close ends for the client by the next alarm, and for the backend by the one after")
    func closingEnds() throws {
        try Self.everyWorld { world in
            guard world.isOpen else { return }
            var tunnel = world.tunnel
            tunnel.take(.mustClose)
            tunnel.take(.alarm(isExpired: false, isIdle: false))
            try #require(tunnel.deeds.contains(where: Self.isEnd) || !world.clientIsThere, "\(world.path)")
            tunnel.take(.alarm(isExpired: false, isIdle: false))
            try #require(!tunnel.hasUpstream, "\(world.path)")
        }
    }

    @Test("A declined WebSocket is left to its response, whatever else happens")
    func declined() throws {
        try Self.everyWorld { world in
            guard world.path.contains(.declined) else { return }
            let others = world.tunnel.deeds.filter { deed in
                switch deed {
                case .hold, .respond, .responseEnded, .cancelBackend: false
                default: true
                }
            }
            try #require(others == [], "\(world.path)")
        }
    }

    @Test("Nothing is done for a WebSocket that is over")
    func afterwards() throws {
        let events: [Event] = [
            .opened, .declined, .backend(.whole), .finished, .failed, .client(.whole), .clientEnded, .disconnect,
            .mustClose, .alarm(isExpired: true, isIdle: true),
        ]
        try Self.everyWorld { world in
            guard !world.tunnel.hasUpstream else { return }
            var tunnel = world.tunnel
            tunnel.take(events)
            try #require(tunnel.deeds == world.tunnel.deeds, "\(world.path)")
        }
    }
}
