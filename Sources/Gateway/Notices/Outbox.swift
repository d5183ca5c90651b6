internal import Locking
internal import Logging
internal import Store
internal import Telemetry

/// A receiver of the outbox's messages.
protocol OutboxReceiver: Sendable {
    /// By which messages name it.
    var name: String { get }
    /// The most time that one attempt takes.
    var timeout: Duration { get }

    /// Sends a message, which was received when this returns.
    ///
    /// - Parameter now: seconds since 1970.
    func send(_ message: OutboxMessage, now: Int64) async throws(DeliveryFailure)
}

/// Sends what other services are to be told, each at least once, from a table that outlasts the process.
///
/// What is not received is sent again after a second, then after twice as long each time, up to an hour; and given up
/// after a week. Messages of different ages may arrive in another order than they were written in.
actor Outbox {
    /// For metrics.
    struct Status: Sendable {
        var delivered = 0
        var failures = 0
        /// Messages that were not taken because too many waited, or were given up.
        var lost = 0
        var waiting = 0
    }

    /// How many messages wait at most.
    static let limit = 100_000
    /// How long one is tried, in milliseconds.
    static let lifetime: Int64 = 7 * 86_400_000
    private static let longestPause: Int64 = 3_600_000
    private static let interval = Duration.seconds(1)
    /// How many are on their way at the same time.
    private static let atOnce = 16
    private static let roundsOfKeeping = 60

    private let records: any OutboxRecords
    private let now: @Sendable () -> Int64
    /// Between 0 and 1.
    private let random: @Sendable () -> Double
    private let logger: Logger
    private var isSending = false
    private nonisolated let counted = Locked(Status())
    /// Messages that are being kept. A flood of them must not pile up before the store.
    private nonisolated let adding = Locked(0)
    private static let addingLimit = 4096
    private nonisolated let receivers = Locked<[String: any OutboxReceiver]>([:])

    nonisolated var status: Status { counted.withLock { $0 } }

    /// - Parameter now: milliseconds since 1970.
    init(
        records: any OutboxRecords, logger: Logger, now: @escaping @Sendable () -> Int64,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.records = records
        self.logger = logger
        self.now = now
        self.random = random
    }

    /// From now on sends to these. What waits for a receiver that is gone waits on.
    nonisolated func adopt(_ receivers: [any OutboxReceiver]) {
        let byName = Dictionary(receivers.map { ($0.name, $0) }) { first, _ in first }
        self.receivers.withLock { $0 = byName }
    }

    /// Keeps a message and begins to send it. When this returns, it outlasts the process.
    ///
    /// - Returns: whether it was taken.
    nonisolated func add(_ message: OutboxMessage) async -> Bool {
        let hasRoom = adding.withLock { adding -> Bool in
            guard adding < Self.addingLimit else { return false }
            adding += 1
            return true
        }
        guard hasRoom else {
            counted.withLock { $0.lost += 1 }
            return false
        }
        defer { adding.withLock { $0 -= 1 } }
        return await keep(message)
    }

    private nonisolated func keep(_ message: OutboxMessage) async -> Bool {
        do {
            guard try await records.add(message, limit: Self.limit) else {
                counted.withLock { $0.lost += 1 }
                logger.error(
                    "a message is lost: too many wait",
                    metadata: ["destination": "\(message.destination)", "kind": "\(message.kind)"])
                return false
            }
        } catch {
            counted.withLock { $0.lost += 1 }
            logger.error(
                "a message is lost: it cannot be kept",
                metadata: [
                    "destination": "\(message.destination)", "kind": "\(message.kind)", "error": "\(error)",
                ])
            return false
        }
        Task { await sendDue() }
        return true
    }

    // MARK: Sending

    /// Sends what is due, until nothing is.
    func sendDue() async {
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        do {
            while !Task.isCancelled {
                let due = try await records.claim(
                    now: now(), lease: lease, longestPause: Self.longestPause, limit: Self.atOnce)
                guard !due.isEmpty else { return }
                await withTaskGroup(of: Void.self) { tasks in
                    for message in due { tasks.addTask { await self.send(message) } }
                }
            }
        } catch {
            logger.error("the outbox cannot be read", metadata: ["error": "\(error)"])
        }
    }

    /// Milliseconds that are longer than any attempt takes.
    private var lease: Int64 {
        let longest = receivers.withLock { Array($0.values) }.map(\.timeout.components.seconds).max() ?? 0
        return (longest + 5) * 1000
    }

    private func send(_ message: OutboxMessage) async {
        guard let receiver = receivers.withLock({ $0[message.destination] }) else {
            return await postpone(message, by: Self.longestPause)
        }
        let work = WorkUnderWay.begin("outbox delivery", "\(message.destination) \(message.kind)")
        defer { WorkUnderWay.end(work) }
        do throws(DeliveryFailure) {
            try await receiver.send(message, now: now() / 1000)
        } catch {
            counted.withLock { $0.failures += 1 }
            let pause = Self.pause(afterAttempts: message.attempts, random())
            logger.warning(
                "a message was not received",
                metadata: [
                    "destination": "\(message.destination)", "kind": "\(message.kind)", "key": "\(message.key)",
                    "attempts": "\(message.attempts)", "error": "\(error)", "next_in_ms": "\(pause)",
                ])
            return await postpone(message, by: pause)
        }
        counted.withLock { $0.delivered += 1 }
        do {
            try await records.remove(key: message.key)
        } catch {
            logger.error("a message that was received will be sent again", metadata: ["error": "\(error)"])
        }
    }

    private func postpone(_ message: OutboxMessage, by pause: Int64) async {
        do {
            try await records.postpone(key: message.key, until: now() + pause)
        } catch {
            // It is due again when its claim ends.
            guard !Task.isCancelled else { return }
            logger.error("the outbox cannot be written to", metadata: ["error": "\(error)"])
        }
    }

    /// Milliseconds until the next attempt: a second, doubled each time up to an hour, and up to a fifth less, so that
    /// a receiver that comes back is not met by all at once.
    static func pause(afterAttempts attempts: Int, _ random: Double) -> Int64 {
        let doubled = min(1000 << Int64(min(max(1, attempts), 21) - 1), longestPause)
        return doubled - Int64(Double(doubled) * random / 5)
    }

    // MARK: Upkeep

    /// Sends what becomes due until cancelled.
    func run() async {
        var rounds = 0
        while !Task.isCancelled {
            await sendDue()
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

    private func readWaiting() async {
        guard let waiting = try? await records.count() else { return }
        counted.withLock { $0.waiting = waiting }
    }

    private func giveUpOld() async {
        do {
            for message in try await records.removeOlder(than: now() - Self.lifetime) {
                counted.withLock { $0.lost += 1 }
                logger.error(
                    "a message is given up",
                    metadata: [
                        "destination": "\(message.destination)", "kind": "\(message.kind)",
                        "attempts": "\(message.attempts)",
                    ])
            }
        } catch {
            logger.error("the outbox cannot be written to", metadata: ["error": "\(error)"])
        }
    }
}
