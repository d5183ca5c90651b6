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

    init(_ sets: [NIOLoopBound<ConnectionSet>]) {
        self.sets = sets
    }

    /// Lets a connection in, or does not. Its place is free again when the channel has closed.
    ///
    /// - Parameter evicted: called on the channel's event loop when another one was closed for it.
    /// - Precondition: on the channel's event loop, and `own` is the set of that.
    /// - Returns: why it is not let in; nil when it is.
    func admit(
        _ channel: any Channel, _ settings: ListenerSettings, own: ConnectionSet, evicted: @escaping () -> Void
    ) -> EventLoopFuture<ConnectionRefusal?> {
        let eventLoop = channel.eventLoop
        let address = channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        // Of one that begins with a PROXY header, the client's address counts, which is not known yet.
        if let address, !settings.proxies.contains(where: { $0.contains(address) }),
            !admit(address, channel, settings)
        {
            return eventLoop.makeSucceededFuture(.addressLimit)
        }
        if count.add(1, ordering: .relaxed).newValue <= settings.connections {
            freeWhenClosed(channel)
            return eventLoop.makeSucceededFuture(nil)
        }
        if own.evictIdlest() {
            evicted()
            freeWhenClosed(channel)
            return eventLoop.makeSucceededFuture(nil)
        }
        guard quietUntil.load(ordering: .relaxed) <= NIODeadline.now().uptimeNanoseconds else {
            return eventLoop.makeSucceededFuture(turnAway())
        }
        return evict(among: sets[...], on: eventLoop).assumeIsolated().map { isEvicted in
            guard isEvicted else {
                self.quietUntil.store((NIODeadline.now() + Self.quiet).uptimeNanoseconds, ordering: .relaxed)
                return self.turnAway()
            }
            evicted()
            self.freeWhenClosed(channel)
            return nil
        }.nonisolated()
    }

    /// Counts a client in; one that trusted proxies may stand for is not counted, since many are behind it.
    ///
    /// - Returns: whether the address has room.
    func admit(_ address: IPAddress, _ channel: any Channel, _ settings: ListenerSettings) -> Bool {
        guard !settings.trustedProxies.contains(where: { $0.contains(address) }) else { return true }
        let slots = AddressSlots(of: address)
        guard byAddress.begin(slots, limit: settings.connectionsPerAddress) else { return false }
        channel.closeFuture.whenComplete { _ in self.byAddress.end(slots) }
        return true
    }

    private func freeWhenClosed(_ channel: any Channel) {
        channel.closeFuture.whenComplete { _ in self.count.subtract(1, ordering: .relaxed) }
    }

    private func turnAway() -> ConnectionRefusal {
        count.subtract(1, ordering: .relaxed)
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
