internal import NIOCore
internal import Pipeline
internal import Synchronization

/// Which connections of a listener are let in: so many in all, and so many of each address. When there is no room, the
/// one that has been idle the longest makes room.
final class ConnectionAdmission: Sendable {
    private let count = Atomic(0)
    private let byAddress = AddressCounts()
    private let sets: [NIOLoopBound<ConnectionSet>]
    /// Until when nobody is asked for an idle connection, since no event loop had any; the clock of ``NIODeadline``.
    private let quietUntil = Atomic<UInt64>(0)

    private static let quiet = TimeAmount.milliseconds(250)
    /// How many connections of each event loop make room at a time.
    private static let mostEvicted = 16

    init(_ sets: [NIOLoopBound<ConnectionSet>]) {
        self.sets = sets
    }

    enum Admission {
        case admitted
        case refused(ConnectionRefusal)
        /// Other event loops are asked for an idle connection. Nil when it is let in.
        case undecided(EventLoopFuture<ConnectionRefusal?>)
    }

    /// Lets a connection in, or does not. Its place is free again when the channel has closed.
    ///
    /// - Parameters:
    ///   - address: the channel's peer.
    ///   - evicted: called on the channel's event loop when another one was closed for it.
    /// - Precondition: on the channel's event loop, and `own` is the set of that.
    func admit(
        _ channel: any Channel, from address: IPAddress?, _ settings: ListenerSettings, own: ConnectionSet,
        evicted: @escaping () -> Void
    ) -> Admission {
        var slots: AddressSlots?
        // Of one that begins with a PROXY header, the client's address counts, which is not known yet.
        if let address, !settings.isProxy(address), let counted = settings.slots(of: address) {
            guard byAddress.begin(counted, limit: settings.connectionsPerAddress) else {
                return .refused(.addressLimit)
            }
            slots = counted
        }
        if count.add(1, ordering: .relaxed).newValue <= settings.connections {
            free(slots, whenClosed: channel)
            return .admitted
        }
        if own.evictIdlest() {
            evicted()
            free(slots, whenClosed: channel)
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
                evicted()
                self.free(slots, whenClosed: channel)
                return nil
            }.nonisolated())
    }

    /// Counts a client in; one that trusted proxies may stand for is not counted, since many are behind it.
    ///
    /// - Returns: whether the address has room.
    func admit(_ address: IPAddress, _ channel: any Channel, _ settings: ListenerSettings) -> Bool {
        guard let slots = settings.slots(of: address) else { return true }
        guard byAddress.begin(slots, limit: settings.connectionsPerAddress) else { return false }
        channel.closeFuture.whenComplete { _ in self.byAddress.end(slots) }
        return true
    }

    /// Closes some of the connections that have been idle the longest, where more are open than the system has
    /// descriptors for.
    ///
    /// - Parameter evicted: called for each of them, on its event loop.
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

    private func free(_ slots: AddressSlots?, whenClosed channel: any Channel) {
        channel.closeFuture.whenComplete { _ in
            self.count.subtract(1, ordering: .relaxed)
            if let slots { self.byAddress.end(slots) }
        }
    }

    private func turnAway(_ slots: AddressSlots?) -> ConnectionRefusal {
        count.subtract(1, ordering: .relaxed)
        if let slots { byAddress.end(slots) }
        return .limit
    }

    /// Asks one event loop after the other.
    private func evict(
        among sets: ArraySlice<NIOLoopBound<ConnectionSet>>, on eventLoop: any EventLoop
    ) -> EventLoopFuture<Bool> {
        guard let set = sets.first else { return eventLoop.makeSucceededFuture(false) }
        return set.eventLoop.submit { set.value.evictIdlest() }.hop(to: eventLoop).flatMap { isEvicted in
            isEvicted ? eventLoop.makeSucceededFuture(true) : self.evict(among: sets.dropFirst(), on: eventLoop)
        }
    }
}
