import Testing

@testable import Proxy

/// Every order of events that a request's neighbours can bring about, with up to three parts of a body.
@Suite("Every order of a request's events")
struct ExchangeOrderTests {
    typealias Event = ModelExchange.Event
    typealias Deed = ModelExchange.Deed

    /// An exchange and what its neighbours may still do.
    private struct World {
        var exchange: ModelExchange
        var path: [Event] = []
        var parts = 0
        var bodyLeft: Int
        var bodyHasEnded = false
        /// The rest of the request is not read.
        var requestHasFailed = false
        var isUndecided = true
        var lookUps = 0
        var looksUp = false
        var clientIsThere = true
        /// How far the backend has come.
        var backend = Backend.none
        var callIsUnanswered = false
        /// The last event that decided where the request goes.
        var course: Event?

        enum Backend { case none, asked, responding, tunnelAsked, tunnelOpen }

        init(hasBody: Bool, bodyLimit: Int) {
            exchange = ModelExchange(hasBody: hasBody, bodyLimit: bodyLimit)
            bodyLeft = hasBody ? 3 : 0
        }

        var isOver: Bool { exchange.deeds.contains(.record) }

        /// The decisions of the gate. After a look-up it finds the key or refuses; here it may look for another.
        var decisions: [Event] {
            [.forward, .open, .callEndpoint, .callDirect, .refuse] + (lookUps < 2 ? [.lookUpKeys] : [])
        }

        var possible: [Event] {
            if isUndecided { return decisions }
            var events: [Event] = []
            if clientIsThere {
                events.append(.disconnect)
                if !bodyHasEnded, !requestHasFailed {
                    events += bodyLeft > 0 ? [.part, .end, .requestFailed] : [.end, .requestFailed]
                }
            }
            if looksUp { events.append(.keysWereLookedUp) }
            if callIsUnanswered { events.append(.callAnswered) }
            if callIsUnanswered, course == .callEndpoint { events.append(.callForwarded) }
            switch backend {
            case .none: break
            case .asked: events += [.responded, .failed]
            case .responding: events += [.finished, .failed]
            case .tunnelAsked: events += [.responded, .declined, .failed]
            case .tunnelOpen: events.append(.tunnelEnded)
            }
            return events
        }

        /// - Parameter decision: what is decided where keys were looked up.
        mutating func take(_ event: Event, then decision: Event? = nil) {
            path.append(event)
            if let decision { path.append(decision) }
            let before = exchange.deeds.count
            switch event {
            case .keysWereLookedUp:
                looksUp = false
                if let decision {
                    if !isOver { note(decision) }
                    exchange.lookedUp(then: decision)
                }
            case .callForwarded:
                callIsUnanswered = false
                if exchange.isPerformingEndpoint { note(.forward) }
                exchange.forwardCall()
            default:
                note(event)
                exchange.take(event)
            }
            noteDeeds(exchange.deeds[before...])
        }

        private mutating func note(_ event: Event) {
            switch event {
            case .forward: backend = .asked
            case .open: backend = .tunnelAsked
            case .lookUpKeys: (looksUp, lookUps) = (true, lookUps + 1)
            case .part: (parts, bodyLeft) = (parts + 1, bodyLeft - 1)
            case .end: bodyHasEnded = true
            case .requestFailed: requestHasFailed = true
            case .disconnect: clientIsThere = false
            case .callAnswered: callIsUnanswered = false
            case .responded: backend = backend == .tunnelAsked ? .tunnelOpen : .responding
            case .declined: backend = .responding
            case .finished, .failed, .tunnelEnded: backend = .none
            case .callEndpoint, .callDirect, .refuse, .keysWereLookedUp, .callForwarded: break
            }
            if event.isDecision {
                isUndecided = false
                course = event
            }
        }

        private mutating func noteDeeds(_ deeds: ArraySlice<Deed>) {
            for deed in deeds {
                switch deed {
                // It says nothing any more.
                case .cancelUpstream, .cancelTunnel: backend = .none
                case .perform: callIsUnanswered = true
                default: break
                }
            }
        }
    }

    private static func explore(_ world: World, _ visit: (World) throws -> Void) rethrows {
        try visit(world)
        for event in world.possible {
            if event == .keysWereLookedUp {
                for decision in world.decisions {
                    var next = world
                    next.take(event, then: decision)
                    try explore(next, visit)
                }
            } else {
                var next = world
                next.take(event)
                try explore(next, visit)
            }
        }
    }

    /// Visits every world that can come about.
    private static func everyWorld(_ visit: (World) throws -> Void) rethrows {
        for hasBody in [true, false] {
            for limit in 0...3 { try explore(World(hasBody: hasBody, bodyLimit: limit), visit) }
        }
    }

    private static func passed(_ deeds: [Deed]) -> [Int] {
        deeds.flatMap { deed -> [Int] in
            switch deed {
            case .pass(let parts), .passThrough(let parts), .collect(let parts): parts
            default: []
            }
        }
    }

    private static let ends: Set<Deed> = [
        .answer(200), .answer(400), .answer(403), .answer(413), .answer(502), .endResponse, .breakOff,
    ]

    @Test("The response begins at most once, and is recorded once: right before its end, or as the client goes")
    func response() throws {
        var count = 0
        try Self.everyWorld { world in
            count += 1
            let deeds = world.exchange.deeds
            let records = deeds.count { $0 == .record }
            let ends = deeds.filter(Self.ends.contains)
            try #require(records <= 1 && ends.count <= 1, "\(world.path)")
            try #require(deeds.count { $0 == .begin } <= 1, "\(world.path)")
            // The gateway's own responses have no beginning before.
            if deeds.contains(.begin) { try #require(ends.allSatisfy { $0 == .endResponse || $0 == .breakOff }) }
            if let end = ends.first {
                try #require(Array(deeds.suffix(2)) == [.record, end], "\(world.path)")
            } else if records == 1 {
                try #require(deeds.last == .record && !world.clientIsThere, "\(world.path)")
            }
            if !world.clientIsThere { try #require(records == 1, "\(world.path)") }
        }
        #expect(count > 10_000)
    }

    @Test("Nothing is done for a request that is over")
    func afterwards() throws {
        try Self.everyWorld { world in
            guard world.isOver else { return }
            for event in Event.allCases {
                var exchange = world.exchange
                switch event {
                // These are decided only for a request that is not over.
                case .forward, .open, .callEndpoint, .callDirect: continue
                case .keysWereLookedUp: exchange.lookedUp(then: .forward)
                case .callForwarded: exchange.forwardCall()
                default: exchange.take(event)
                }
                try #require(exchange.deeds == world.exchange.deeds, "\(world.path), \(event)")
            }
        }
    }

    @Test("The backend's part is cancelled unless it has ended itself, once, and gets nothing afterwards")
    func cancelling() throws {
        try Self.everyWorld { world in
            let deeds = world.exchange.deeds
            let cancels = deeds.indices.filter { deeds[$0] == .cancelUpstream || deeds[$0] == .cancelTunnel }
            try #require(cancels.count <= 1, "\(world.path)")
            if let cancel = cancels.first {
                let later = deeds[cancel...]
                try #require(Self.passed(Array(later)).isEmpty && !later.contains(.finishBody), "\(world.path)")
                try #require(world.isOver, "\(world.path)")
            }
            // Nobody is left who would hear of it.
            if world.isOver { try #require(world.backend == .none, "\(world.path)") }
        }
    }

    @Test("No part of a body is lost, passed twice or out of order, and its end comes behind the last one")
    func body() throws {
        try Self.everyWorld { world in
            let deeds = world.exchange.deeds
            let collected = world.exchange.collected
            // A sign-in's body is collected, and then passed on as a whole.
            let passed = Self.passed(deeds)
            let isForwardedCall = !collected.isEmpty && deeds.contains(.pass(collected))
            let once = isForwardedCall ? Array(passed.prefix(collected.count)) : passed
            try #require(once == Array(0..<once.count), "\(world.path)")
            try #require(deeds.count { $0 == .finishBody } <= 1, "\(world.path)")
            if let end = deeds.firstIndex(of: .finishBody) {
                try #require(Self.passed(Array(deeds[end...])).isEmpty, "\(world.path)")
                try #require(world.bodyHasEnded || !world.exchange.hasBody, "\(world.path)")
                try #require(once.count == world.parts, "\(world.path)")
            }
            guard !world.isOver, !world.looksUp else { return }
            let isLongCall = world.course == .callDirect && world.parts > world.exchange.bodyLimit
            if !isLongCall { try #require(once.count == world.parts, "\(world.path)") }
            if world.course == .forward, world.exchange.hasBody {
                try #require(deeds.contains(.finishBody) == world.bodyHasEnded, "\(world.path)")
            }
        }
    }

    @Test("A body is too long if, and only if, it has more bytes than the limit allows")
    func limits() throws {
        try Self.everyWorld { world in
            let deeds = world.exchange.deeds
            let isTooLong = world.parts > world.exchange.bodyLimit
            if deeds.contains(.answer(413)) { try #require(isTooLong, "\(world.path)") }
            let isLimited = world.course == .forward || world.course == .callEndpoint
            if isTooLong, isLimited, !world.looksUp { try #require(world.isOver, "\(world.path)") }
            // Beyond the limit only the part that shows it is kept, for a direct call.
            if isLimited { try #require(Self.passed(deeds).count <= 2 * world.exchange.bodyLimit, "\(world.path)") }
        }
    }

    @Test("A call is carried out once, when its body is complete or too long to be collected")
    func calls() throws {
        try Self.everyWorld { world in
            let deeds = world.exchange.deeds
            let performs = deeds.count { $0 == .perform }
            try #require(performs <= 1, "\(world.path)")
            if performs == 1 {
                let isLong = world.course == .callDirect && world.parts > world.exchange.bodyLimit
                try #require(world.bodyHasEnded || isLong || !world.exchange.hasBody, "\(world.path)")
            }
            if world.course == .callEndpoint, world.bodyHasEnded, !world.isOver, !world.looksUp {
                try #require(performs == 1, "\(world.path)")
            }
        }
    }

    @Test("Whatever has happened, a request is over once its client has gone")
    func disconnects() throws {
        try Self.everyWorld { world in
            guard world.clientIsThere else { return }
            var exchange = world.exchange
            exchange.take(.disconnect)
            try #require(exchange.deeds.count { $0 == .record } == 1, "\(world.path)")
        }
    }
}
