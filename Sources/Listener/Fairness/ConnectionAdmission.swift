internal import NIOCore
internal import Pipeline
internal import Synchronization

/// The admission control of a listener: a limit on all connections and one per client address. At the overall limit,
/// the connection that has been idle longest is closed to make room.
final class ConnectionAdmission: Sendable {
    private let count = Atomic(0)
    private let byAddress = AddressCounts()
    private let sets: [NIOLoopBound<ConnectionSet>]
    /// The time until which event loops are not asked for an idle connection, because none had any; on the clock of
    /// ``NIODeadline``.
    private let quietUntil = Atomic<UInt64>(0)

    private static let quiet = TimeAmount.milliseconds(250)
    /// The most connections that one event loop closes per ``makeRoom(evicted:)``.
    private static let mostEvicted = 16

    init(_ sets: [NIOLoopBound<ConnectionSet>]) {
        self.sets = sets
    }

    enum Admission {
        case admitted
        case refused(ConnectionRefusal)
        /// Other event loops are asked for an idle connection. The result is nil if the connection is admitted.
        case undecided(EventLoopFuture<ConnectionRefusal?>)
    }

    /// Admits or refuses a connection. Its slot is released when the channel closes.
    ///
    /// - Parameters:
    ///   - address: the channel's peer.
    ///   - service: is told, on the channel's event loop, that an admitted connection has opened and closed, and that an
    ///     idle one was closed for it.
    /// - Precondition: on the channel's event loop; `own` is that loop's set.
    func admit(
        _ channel: any Channel, from address: IPAddress?, _ settings: ListenerSettings, own: ConnectionSet,
        service: any RequestService
    ) -> Admission {
        var slots: AddressCounters?
        // For a connection with a PROXY header, the client's address is counted instead. It is not known yet.
        if let address, !settings.isProxy(address), let counted = settings.slots(of: address) {
            guard byAddress.begin(counted, limit: settings.connectionsPerAddress) else {
                return .refused(.addressLimit)
            }
            slots = counted
        }
        if count.add(1, ordering: .relaxed).newValue <= settings.connections {
            opened(channel, slots, service)
            return .admitted
        }
        if own.evictIdlest() {
            service.connectionEvicted()
            opened(channel, slots, service)
            return .admitted
        }
        guard quietUntil.load(ordering: .relaxed) <= NIODeadline.now().uptimeNanoseconds else {
            return .refused(turnAway(slots))
        }
        return .undecided(
            evict(among: sets[...], on: channel.eventLoop).assumeIsolated().map { isEvicted in
                guard isEvicted else {
                    self.quietUntil.store(
                        (NIODeadline.now() + Self.quiet).uptimeNanoseconds, ordering: .relaxed)
                    return self.turnAway(slots)
                }
                service.connectionEvicted()
                self.opened(channel, slots, service)
                return nil
            }.nonisolated())
    }

    /// Counts a client's connection. Trusted proxies are not counted, since they stand for many clients.
    ///
    /// - Returns: whether the address is below its limit.
    func admit(_ address: IPAddress, _ channel: any Channel, _ settings: ListenerSettings) -> Bool {
        guard let slots = settings.slots(of: address) else { return true }
        guard byAddress.begin(slots, limit: settings.connectionsPerAddress) else { return false }
        channel.closeFuture.whenComplete { _ in self.byAddress.end(slots) }
        return true
    }

    /// Closes some of the connections that have been idle longest, when the system runs out of descriptors.
    ///
    /// - Parameter evicted: called for each closed connection, on its event loop.
    func makeRoom(evicted: @escaping @Sendable (any EventLoop) -> Void) {
        for set in sets {
            set.eventLoop.execute {
                var left = Self.mostEvicted
                while left > 0, set.value.evictIdlest() {
                    left -= 1
                    evicted(set.eventLoop)
                }
            }
        }
    }

    private func opened(_ channel: any Channel, _ slots: AddressCounters?, _ service: any RequestService) {
        service.connectionOpened()
        // One callback does all: a future stores the first without an allocation.
        channel.closeFuture.assumeIsolated().whenComplete { _ in
            self.count.subtract(1, ordering: .relaxed)
            if let slots { self.byAddress.end(slots) }
            service.connectionClosed()
        }
    }

    private func turnAway(_ slots: AddressCounters?) -> ConnectionRefusal {
        count.subtract(1, ordering: .relaxed)
        if let slots { byAddress.end(slots) }
        return .limit
    }

    /// Asks the event loops one after the other to close an idle connection.
    private func evict(
        among sets: ArraySlice<NIOLoopBound<ConnectionSet>>, on eventLoop: any EventLoop
    ) -> EventLoopFuture<Bool> {
        guard let set = sets.first else { return eventLoop.makeSucceededFuture(false) }
        return set.eventLoop.submit { set.value.evictIdlest() }.hop(to: eventLoop).flatMap { isEvicted in
            isEvicted ? eventLoop.makeSucceededFuture(true) : self.evict(among: sets.dropFirst(), on: eventLoop)
        }
    }
}
