internal import Encoding
internal import Locking
package import Logging
internal import Pipeline
package import Store
internal import Telemetry

/// A receiver of the outbox's messages.
package protocol OutboxReceiver: Sendable {
    /// By which messages name it.
    var name: String { get }
    /// The most time that one attempt takes.
    var timeout: Duration { get }

    /// Sends a message, which was received when this returns.
    func send(_ message: OutboxMessage) async throws(DeliveryFailure)
}

/// Sends what other services are to be told, each at least once, from a table that outlasts the process.
///
/// A message that is not received is sent again after a second, then after twice as long each time, up to an hour. It
/// is given up after a week. Messages of different ages may arrive in another order than they were written in.
///
/// No destination waits for another one: each has its own room, and its own deliveries.
package actor Outbox {
    /// For metrics.
    struct Status: Sendable {
        var delivered = 0
        var failures = 0
        /// Messages that were not taken because too many waited, or were given up.
        var lost = 0
        var waiting = 0
    }

    /// How many messages wait at most for one destination, of those that must arrive and of the others each. They are
    /// counted once a second: gateways that share the records exceed it by what they add meanwhile.
    package static let limit = 100_000
    /// How long one is tried, in milliseconds.
    static let lifetime: Int64 = 7 * 86_400_000
    private static let longestPause: Int64 = 3_600_000
    private static let interval = Duration.seconds(1)
    /// How many are on their way to one destination at the same time.
    private static let atOnce = 16
    private static let roundsOfKeeping = 60

    private let records: any OutboxRecords
    private let now: @Sendable () -> Int64
    /// Between 0 and 1.
    private let random: @Sendable () -> Double
    private let logger: Logger
    /// How many deliveries each destination has under way.
    private var underWay: [String: Int] = [:]
    private nonisolated let counted = Locked(Status())
    private nonisolated let rooms = Locked<[Room: Occupancy]>([:])
    /// Set when ``run()`` is cancelled, for the deliveries that began with ``add(_:)`` as well.
    private nonisolated let hasStopped = Locked(false)
    private static let addingLimit = 4096

    /// Messages that take room from each other, and from nobody else.
    private struct Room: Hashable {
        @Exact var destination: String
        var mustArrive: Bool
    }

    private struct Occupancy {
        /// Messages that waited when they were counted last, and those that were stored here since.
        var waiting = 0
        /// Messages that are being stored. A flood of them must not pile up before the store.
        var adding = 0

        var isFull: Bool { adding >= Outbox.addingLimit || waiting + adding >= Outbox.limit }
    }

    private nonisolated let receivers = Locked<[String: any OutboxReceiver]>([:])

    nonisolated var status: Status { counted.withLock { $0 } }

    /// - Parameter now: milliseconds since 1970.
    package init(
        records: any OutboxRecords, logger: Logger, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.records = records
        self.logger = logger
        self.now = now
        self.random = random
    }

    /// Sends to these receivers from now on. Messages for a receiver that is gone wait on.
    nonisolated func adopt(_ receivers: [any OutboxReceiver]) {
        let byName = Dictionary(receivers.map { ($0.name, $0) }) { first, _ in first }
        self.receivers.withLock { $0 = byName }
    }

    /// Keeps a message and begins to send it. When this returns, it outlasts the process.
    ///
    /// - Returns: whether it was taken.
    nonisolated func add(_ message: OutboxMessage) async -> Bool {
        let room = Room(destination: message.destination, mustArrive: message.mustArrive)
        guard enter(room) else {
            lose(message, "a message is lost: the outbox is full")
            return false
        }
        do {
            // One with the same key waits already.
            leave(room, stored: try await records.add(message))
        } catch {
            leave(room, stored: false)
            lose(message, "a message is lost: it cannot be stored", error)
            return false
        }
        Task { await sendDue(to: message.destination) }
        return true
    }

    private nonisolated func enter(_ room: Room) -> Bool {
        rooms.withLock { rooms in
            guard !rooms[room, default: Occupancy()].isFull else { return false }
            rooms[room, default: Occupancy()].adding += 1
            return true
        }
    }

    private nonisolated func leave(_ room: Room, stored isStored: Bool) {
        rooms.withLock { rooms in
            rooms[room, default: Occupancy()].adding -= 1
            if isStored { rooms[room, default: Occupancy()].waiting += 1 }
        }
    }

    private nonisolated func lose(_ message: OutboxMessage, _ text: Logger.Message, _ error: (any Error)? = nil) {
        counted.withLock { $0.lost += 1 }
        var metadata: Logger.Metadata = ["destination": "\(message.destination)", "kind": "\(message.kind)"]
        metadata["error"] = error.map { "\($0)" }
        logger.error(text, metadata: metadata)
    }

    // MARK: Sending

    /// Sends what is due to anyone, until nothing is.
    func sendDue() async {
        let destinations = receivers.withLock { Array($0.keys) }
        await withDiscardingTaskGroup { tasks in
            for destination in destinations { tasks.addTask { await self.sendDue(to: destination) } }
        }
    }

    /// Sends what is due to one receiver, until nothing is, as far as it has deliveries left.
    private func sendDue(to destination: String) async {
        let free = Self.atOnce - underWay[destination, default: 0]
        guard free > 0 else { return }
        // Before anything is waited for, so that all who come here together have no more than these.
        underWay[destination, default: 0] += free
        let due = await claim(for: destination, limit: free)
        underWay[destination, default: 0] -= free - due.count
        await withDiscardingTaskGroup { tasks in
            for message in due {
                // Each goes on with the next message by itself: none waits for a slow one.
                tasks.addTask { await self.deliver(from: message, to: destination) }
            }
        }
    }

    private func deliver(from first: OutboxMessage, to destination: String) async {
        var next: OutboxMessage? = first
        while let message = next {
            await send(message)
            next = await claim(for: destination, limit: 1).first
        }
        underWay[destination, default: 0] -= 1
    }

    private func claim(for destination: String, limit: Int) async -> [OutboxMessage] {
        guard !isStopping, let receiver = receivers.withLock({ $0[destination] }) else { return [] }
        do {
            // Longer than any attempt takes.
            let lease = (receiver.timeout.components.seconds + 5) * 1000
            return try await records.claim(
                for: destination, now: now(), lease: lease, longestPause: Self.longestPause, limit: limit)
        } catch {
            if !isStopping { logger.error("the outbox cannot be read", metadata: ["error": "\(error)"]) }
            return []
        }
    }

    private func send(_ message: OutboxMessage) async {
        guard let receiver = receivers.withLock({ $0[message.destination] }) else {
            return await postpone(message, by: Self.longestPause)
        }
        let work = WorkUnderWay.begin("outbox delivery", "\(message.destination) \(message.kind)")
        defer { WorkUnderWay.end(work) }
        do throws(DeliveryFailure) {
            try await receiver.send(message)
        } catch {
            // It is due again when its claim ends.
            guard !isStopping else { return }
            counted.withLock { $0.failures += 1 }
            let pause = Self.pause(afterAttempts: message.attempts, random())
            logger.warning(
                "a message was not delivered",
                metadata: [
                    "destination": "\(message.destination)", "kind": "\(message.kind)", "key": "\(message.key)",
                    "attempts": .stringConvertible(message.attempts), "error": "\(error)",
                    "next_in_ms": .stringConvertible(pause),
                ])
            return await postpone(message, by: pause)
        }
        counted.withLock { $0.delivered += 1 }
        do {
            // In a task of its own: a stop must not have it sent again.
            try await Task { [records] in try await records.remove(key: message.key) }.value
        } catch {
            logger.error("a delivered message will be sent again", metadata: ["error": "\(error)"])
        }
    }

    private func postpone(_ message: OutboxMessage, by pause: Int64) async {
        do {
            try await records.postpone(key: message.key, until: now() + pause)
        } catch {
            // It is due again when its claim ends.
            guard !isStopping else { return }
            logger.error("the outbox cannot be written to", metadata: ["error": "\(error)"])
        }
    }

    private nonisolated var isStopping: Bool { Task.isCancelled || hasStopped.withLock { $0 } }

    /// Milliseconds until the next attempt: a second, doubled each time up to an hour, and up to a fifth less, so that
    /// a receiver that comes back is not met by all at once.
    static func pause(afterAttempts attempts: Int, _ random: Double) -> Int64 {
        let doubled = min(1000 << Int64(min(max(1, attempts), 21) - 1), longestPause)
        return doubled - Int64(Double(doubled) * random / 5)
    }

    // MARK: Upkeep

    /// Sends what becomes due until cancelled. From then on nothing more is sent.
    package func run() async {
        await withTaskCancellationHandler {
            await sendWhatBecomesDue()
        } onCancel: {
            hasStopped.withLock { $0 = true }
        }
    }

    private func sendWhatBecomesDue() async {
        await withDiscardingTaskGroup { tasks in
            var rounds = 0
            while !Task.isCancelled {
                // Beside the deliveries that are under way, which may take long.
                tasks.addTask { await self.sendDue() }
                if rounds % Self.roundsOfKeeping == 0 { await giveUpOld() }
                await readWaiting()
                rounds += 1
                do {
                    try await Task.sleep(for: Self.interval)
                } catch {
                    return
                }
            }
        }
    }

    /// Counts what waits. Where that fails, the last numbers hold.
    func readWaiting() async {
        guard let counts = try? await records.counts() else { return }
        note(counts)
    }

    private nonisolated func note(_ counts: [OutboxCount]) {
        rooms.withLock { rooms in
            rooms = rooms.filter { $0.value.adding > 0 }.mapValues { Occupancy(adding: $0.adding) }
            for each in counts {
                let room = Room(destination: each.destination, mustArrive: each.mustArrive)
                rooms[room, default: Occupancy()].waiting += each.count
            }
        }
        counted.withLock { $0.waiting = counts.reduce(0) { $0 + $1.count } }
    }

    private func giveUpOld() async {
        do {
            for message in try await records.removeOlder(than: Self.lifetime, now: now()) {
                counted.withLock { $0.lost += 1 }
                logger.error(
                    "a message was given up",
                    metadata: [
                        "destination": "\(message.destination)", "kind": "\(message.kind)",
                        "attempts": .stringConvertible(message.attempts),
                    ])
            }
        } catch {
            guard !Task.isCancelled else { return }
            logger.error("the outbox cannot be written to", metadata: ["error": "\(error)"])
        }
    }
}
