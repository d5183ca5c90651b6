internal import Encoding
internal import Locking
package import Logging
internal import Pipeline
package import Store
internal import Telemetry

/// A receiver of the outbox's messages.
package protocol OutboxReceiver: Sendable {
    /// The name by which messages refer to the receiver.
    var name: String { get }
    /// The time limit of one attempt.
    var timeout: Duration { get }

    /// Sends a message; returns once it is received.
    func send(_ message: OutboxMessage) async throws(DeliveryFailure)
}

/// Sends messages to other services, each at least once, from a table that outlasts the process.
///
/// A message that is not received is sent again after a second, then after twice that time each, up to an hour. It is
/// discarded after a week. Messages of different ages may arrive out of order.
///
/// Destinations do not wait for each other: each has its own capacity, and its own deliveries.
package actor Outbox {
    /// The counts for metrics.
    struct Status: Sendable {
        var delivered = 0
        var failures = 0
        /// Messages that were not stored because too many waited, or because the store failed, and those that were
        /// discarded.
        var lost = 0
        var waiting = 0
    }

    /// The maximum number of messages that wait for one destination, separately for those that must arrive and for the
    /// others. They are counted once a second: gateways that share the records can exceed it by the messages added in
    /// between.
    package static let limit = 100_000
    /// The time for which delivery is tried, in milliseconds.
    static let lifetime: Int64 = 7 * 86_400_000
    private static let longestPause: Int64 = 3_600_000
    private static let interval = Duration.seconds(1)
    /// The maximum number of concurrent deliveries to one destination.
    private static let atOnce = 16
    private static let roundsOfKeeping = 60

    private let records: any OutboxRecords
    private let now: @Sendable () -> Int64
    /// Returns a number from 0 to 1.
    private let random: @Sendable () -> Double
    private let logger: Logger
    /// The number of deliveries in progress by destination.
    private var underWay: [String: Int] = [:]
    private nonisolated let counted = Locked(Status())
    private nonisolated let rooms = Locked<[Room: Occupancy]>([:])
    /// Set when ``run()`` is cancelled; it also stops the deliveries that began with ``add(_:)``.
    private nonisolated let hasStopped = Locked(false)
    private static let addingLimit = 4096

    /// A set of messages that share one limit.
    private struct Room: Hashable {
        @Exact var destination: String
        var mustArrive: Bool
    }

    private struct Occupancy {
        /// The messages that waited at the last count, and those stored here since.
        var waiting = 0
        /// The messages that are being stored. Their number is limited, so that a flood does not pile up before the
        /// store.
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

    /// Replaces the receivers. Messages for a receiver that is gone keep waiting.
    nonisolated func adopt(_ receivers: [any OutboxReceiver]) {
        let byName = Dictionary(receivers.map { ($0.name, $0) }) { first, _ in first }
        self.receivers.withLock { $0 = byName }
    }

    /// Stores a message and begins to send it. When this returns true, the message outlasts the process.
    ///
    /// - Returns: whether it is stored.
    nonisolated func add(_ message: OutboxMessage) async -> Bool {
        let room = Room(destination: message.destination, mustArrive: message.mustArrive)
        guard enter(room) else {
            lose(message, "a message is lost: the outbox is full")
            return false
        }
        do {
            // Adding returns false if a message with the same key is waiting.
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

    /// Sends the due messages to all destinations until none is left.
    func sendDue() async {
        let destinations = receivers.withLock { Array($0.keys) }
        await withDiscardingTaskGroup { tasks in
            for destination in destinations { tasks.addTask { await self.sendDue(to: destination) } }
        }
    }

    /// Sends the due messages to one receiver until none is left, with the deliveries that are free.
    private func sendDue(to destination: String) async {
        let free = Self.atOnce - underWay[destination, default: 0]
        guard free > 0 else { return }
        // Before the first suspension, so that concurrent calls do not exceed the maximum.
        underWay[destination, default: 0] += free
        let due = await claim(for: destination, limit: free)
        underWay[destination, default: 0] -= free - due.count
        await withDiscardingTaskGroup { tasks in
            for message in due {
                // Each task continues with the next message: none waits for a slow one.
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
            // Longer than an attempt can take.
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
        let work = WorkInProgress.begin("outbox delivery", "\(message.destination) \(message.kind)")
        defer { WorkInProgress.end(work) }
        do throws(DeliveryFailure) {
            try await receiver.send(message)
        } catch {
            // It becomes due again when its claim expires.
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
            // A separate task: a stop must not cause the message to be sent again.
            try await Task { [records] in try await records.remove(key: message.key) }.value
        } catch {
            logger.error("a delivered message will be sent again", metadata: ["error": "\(error)"])
        }
    }

    private func postpone(_ message: OutboxMessage, by pause: Int64) async {
        do {
            try await records.postpone(key: message.key, until: now() + pause)
        } catch {
            // It becomes due again when its claim expires.
            guard !isStopping else { return }
            logger.error("the outbox cannot be written to", metadata: ["error": "\(error)"])
        }
    }

    private nonisolated var isStopping: Bool { Task.isCancelled || hasStopped.withLock { $0 } }

    /// Returns the milliseconds until the next attempt: a second, doubled each time up to an hour, minus up to a fifth,
    /// so that a receiver that recovers does not get all messages at once.
    static func pause(afterAttempts attempts: Int, _ random: Double) -> Int64 {
        let doubled = min(1000 << Int64(min(max(1, attempts), 21) - 1), longestPause)
        return doubled - Int64(Double(doubled) * random / 5)
    }

    // MARK: Upkeep

    /// Sends messages as they become due, until cancelled. Then no more are sent.
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
                // A separate task, since deliveries in progress may take long.
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

    /// Counts the waiting messages. If that fails, the last numbers stay.
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
