/// All revocations at one moment. A change makes another list; a list never changes, so that every event loop reads its
/// own without a lock.
package final class RevocationList: Sendable {
    private struct Extent: Sendable {
        /// Tokens of sign-ins later than this are not meant; only of use for subjects.
        var before: Int64
        var endsAt: Int64
    }

    /// Another one for each change: equal numbers mean the same list.
    package let generation: UInt64
    /// How many there are.
    package let count: Int
    /// Two parts, so that a change copies the smaller one only. What is in both is right in `recent`.
    private let settled: [RevocationKey: Extent]
    private let recent: [RevocationKey: Extent]

    package static let empty = RevocationList(generation: 0, count: 0, settled: [:], recent: [:])

    private init(
        generation: UInt64, count: Int, settled: [RevocationKey: Extent], recent: [RevocationKey: Extent]
    ) {
        self.generation = generation
        self.count = count
        self.settled = settled
        self.recent = recent
    }

    package var isEmpty: Bool { count == 0 }

    /// The list with more in it. Of two for the same tokens what either means is meant.
    package func adding(_ revocations: [Revocation]) -> RevocationList {
        var (settled, recent, count) = (settled, recent, count)
        for revocation in revocations {
            let key = RevocationKey(revocation)
            var extent = Extent(before: .max, endsAt: revocation.endsAt)
            if case .subject(_, let before) = revocation.target { extent.before = before }
            if let known = recent[key] ?? settled[key] {
                extent.before = max(extent.before, known.before)
                extent.endsAt = max(extent.endsAt, known.endsAt)
            } else {
                count += 1
            }
            recent[key] = extent
        }
        if recent.count > 256 + settled.count / 16 {
            settled.merge(recent) { _, later in later }
            recent = [:]
        }
        return RevocationList(generation: generation + 1, count: count, settled: settled, recent: recent)
    }

    /// The list without those that mean no token any more; itself when there are none. Tokens that were let through by
    /// it are let through by the other, so the generation stays.
    ///
    /// - Parameter now: seconds since 1970.
    package func removingEnded(now: Int64) -> RevocationList {
        let left = settled.merging(recent) { _, later in later }.filter { $0.value.endsAt > now }
        guard left.count < count else { return self }
        return RevocationList(generation: generation, count: left.count, settled: left, recent: [:])
    }

    /// Whether a token that is right in itself counts no more.
    package func revokes(_ token: VerifiedToken) -> Bool {
        guard !isEmpty else { return false }
        if let subject = extent(.subject, token.subject, token) {
            let signedIn = token.claims["auth_time"]?.numberValue?.numericDate ?? token.issuedAt
            guard let signedIn, signedIn > subject.before else { return true }
        }
        let names: [(RevocationKey.Kind, String)] = [(.originID, "origin_jti"), (.tokenID, "jti"), (.session, "sid")]
        return names.contains { kind, name in
            token.claims[name]?.stringValue.map { extent(kind, $0, token) != nil } ?? false
        }
    }

    private func extent(_ kind: RevocationKey.Kind, _ value: String, _ token: VerifiedToken) -> Extent? {
        let key = RevocationKey(kind, value, issuer: token.issuer)
        return recent[key] ?? settled[key]
    }
}
