import Foundation

extension Gatehouse {
    /// The session is over for this device, and for other processes that share the store.
    func ended(_ session: StoredSession, _ reason: SignOutReason) async -> GatehouseError {
        guard self.session?.generation == session.generation else { return .signedOut(reason) }
        self.session = nil
        endOfToken = nil
        // Also a session that this one has replaced in use, and not yet in the store.
        over.formUnion([session.generation, item?.session?.generation].compactMap { $0 })
        become(.signedOut(reason))
        report(.signedOut(reason))
        do {
            try await remove(session)
        } catch {
            report(.notStored(Self.reason(error)))
            await noteSignOut()
        }
        return .signedOut(reason)
    }

    /// Removes a session from the store, also the next tokens that are being stored. Another sign-in's session stays.
    private func remove(_ session: StoredSession) async throws {
        for _ in 0..<8 {
            guard var next = item else { return }
            next.session = nil
            let old = stored
            var data: Data? = try Self.encoded(next)
            let isRemoved: Bool
            do {
                isRemoved = try await store.replace(old, with: data)
            } catch {
                // Such as on a full disk. The device's identifier goes too.
                data = nil
                isRemoved = try await store.replace(old, with: nil)
            }
            if isRemoved {
                // Another sign-in may be storing its session meanwhile.
                if self.session == nil { (stored, item) = (data, next) }
                return
            }
            guard self.session == nil else { return }
            let found = try await store.read()
            let decoded = Self.decoded(found)
            guard decoded?.session?.generation == session.generation, self.session == nil else { return }
            (stored, item) = (found, decoded)
        }
        throw StoreFailure.failed("others write at the same time")
    }

    /// Removes what an earlier sign-out could not remove.
    func removeEnded() async throws {
        guard session == nil, let old = item?.session else { return }
        try await remove(old)
        if let noted = try await store.signOuts?.read() { _ = try await store.signOuts?.replace(noted, with: nil) }
    }

    /// Notes that the session in the store is over, where the next launch and other processes find it.
    private func noteSignOut() async {
        guard let place = store.signOuts else { return }
        do {
            let noted = try await place.read()
            if try await place.replace(noted, with: JSONEncoder().encode(over)) { return }
            throw StoreFailure.failed("others write at the same time")
        } catch {
            report(.notStored(Self.reason(error)))
        }
    }

    /// The sessions in the store that are over, as far as their removal failed.
    func notedSignOuts() async throws -> Set<UUID> {
        guard let noted = try await store.signOuts?.read() else { return [] }
        // Nothing but this client writes there: other text is no note.
        return (try? JSONDecoder().decode(Set<UUID>.self, from: noted)) ?? []
    }
}
