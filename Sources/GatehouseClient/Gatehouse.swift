import Foundation

/// An app's half of a Gatehouse gateway: signs in, keeps the session, and sends requests with its token.
///
/// Make one for each gateway and keep it. Several processes may share the store; their refreshes agree without a lock,
/// since the gateway gives the same successor to all of them.
public actor Gatehouse {
    public nonisolated let configuration: Configuration
    let store: any SessionStore
    let transport: any Transport
    let clock: any ClientClock
    let random: @Sendable (_ count: Int) -> [UInt8]
    let presence: (any PresenceCheck)?

    /// The store's value, as last read or written; nil if nothing is.
    var stored: Data?
    var item: StoredItem?
    /// The session in use. It is ahead of `item` only while it cannot be stored.
    var session: StoredSession?
    /// A session that could not be stored, until it is. `sent` is the token that its refresh showed; nil for a sign-in.
    var unstored: (generation: UUID, sent: Secret?)?
    /// The sign-ins that have ended. Where the store refused to remove one, it is no session all the same.
    var over: Set<UUID> = []
    /// Why the store could not be read, or a session not be removed from it, when that was last tried; nil if it worked.
    var storeFailure: StoreFailure?
    var flight: (generation: UUID, task: Task<StoredSession, any Error>)?
    var retry = RetryGate()
    /// Uptime at which the access token ends; nil for one that was read from the store, whose end is a date.
    var endOfToken: (token: Secret, uptime: TimeInterval)?
    /// The gateway's clock ahead of the device's, from the last response.
    var clockOffset: TimeInterval?
    var restoring: Task<Void, Never>?
    var takingOver: Task<User?, any Error>?
    /// Whether somebody is signed in, as of now.
    public internal(set) var state = SessionState.restoring
    var stateObservers: [UUID: AsyncStream<SessionState>.Continuation] = [:]
    var eventObservers: [UUID: AsyncStream<SessionEvent>.Continuation] = [:]

    /// - Parameters:
    ///   - store: where the session outlasts the app.
    ///   - presence: asked before uses of the session, such as Face ID; nil to ask for nothing.
    ///   - random: returns so many random bytes of the system's cryptographic generator.
    public init(
        _ configuration: Configuration, store: any SessionStore, transport: any Transport = URLSessionTransport(),
        clock: any ClientClock = SystemClock(), presence: (any PresenceCheck)? = nil,
        random: @escaping @Sendable (_ count: Int) -> [UInt8] = Gatehouse.randomBytes
    ) {
        (self.configuration, self.store, self.transport) = (configuration, store, transport)
        (self.clock, self.presence, self.random) = (clock, presence, random)
    }

    /// Bytes of the system's cryptographic generator.
    public static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// The present state and each later one. The first value is there at once; ``restore()`` replaces `.restoring`.
    public var states: AsyncStream<SessionState> {
        let id = UUID()
        return AsyncStream { continuation in
            continuation.onTermination = { _ in Task { await self.forgetObserver(id) } }
            stateObservers[id] = continuation
            continuation.yield(state)
        }
    }

    /// All that happens to the session from now on.
    public var events: AsyncStream<SessionEvent> {
        let id = UUID()
        return AsyncStream { continuation in
            continuation.onTermination = { _ in Task { await self.forgetObserver(id) } }
            eventObservers[id] = continuation
        }
    }

    private func forgetObserver(_ id: UUID) { (stateObservers[id], eventObservers[id]) = (nil, nil) }

    func become(_ new: SessionState) {
        guard new != state else { return }
        state = new
        for observer in stateObservers.values { observer.yield(new) }
    }

    func report(_ event: SessionEvent) {
        for observer in eventObservers.values { observer.yield(event) }
    }
}

/// Asks the user to prove to be present before a use of the session.
public protocol PresenceCheck: Sendable {
    /// Returns when the user has proven to be present, now or within the time that a proof is good for.
    ///
    /// - Throws: ``GatehouseError/notPresent``.
    func confirm() async throws
}
