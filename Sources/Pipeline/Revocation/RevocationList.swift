internal import Encoding

/// All revocations at one moment. Lists are immutable and a change makes a new list, so every event loop reads its own
/// without a lock.
package final class RevocationList: Sendable {
    private struct Extent: Sendable, Equatable {
        /// For a subject: tokens of later sign-ins are not revoked. For a session with superseded tokens: tokens with
        /// this number or a higher one are not revoked.
        var before: Int64
        /// For a subject: the sign-in whose tokens are exempt.
        var spared: ExactText?
        /// Tokens of the exempt sign-in up to this time are revoked nevertheless.
        var beforeOfSpared: Int64 = .min
        var endsAt: Int64

        init(before: Int64, endsAt: Int64) {
            self.before = before
            self.endsAt = endsAt
        }

        init(_ revocation: Revocation) {
            self.init(before: .max, endsAt: revocation.endsAt)
            switch revocation.target {
            case .subject(_, let before): self.before = before
            case .otherSignIns(_, let before, let origin): (self.before, spared) = (before, ExactText(origin))
            case .originID, .tokenID, .session: break
            }
        }

        /// The time up to which the tokens of a sign-in are revoked.
        func before(of signIn: String?) -> Int64 {
            guard let spared, let signIn, ExactText(signIn) == spared else { return before }
            return beforeOfSpared
        }

        /// The union of both extents.
        func merged(with other: Extent) -> Extent {
            var (merged, earlier) = before >= other.before ? (self, other) : (other, self)
            merged.endsAt = max(endsAt, other.endsAt)
            guard merged.spared != nil else { return merged }
            let ofSpared = merged.spared == earlier.spared ? earlier.beforeOfSpared : earlier.before
            merged.beforeOfSpared = max(merged.beforeOfSpared, ofSpared)
            return merged
        }
    }

    /// Increases with every change except the removal of ended revocations.
    package let generation: UInt64
    /// The number of revocations, without superseded tokens.
    package let count: Int
    /// The number of sessions with superseded tokens.
    package let supersededCount: Int
    /// Whether the list is too old to decide which tokens are valid; then no token is. Tokens that were accepted before
    /// are checked again only after a change of the list, and this counts as one.
    package let isTooOld: Bool
    /// Two parts, so that a change copies only the smaller one. A key in both has its current value in `recent`.
    private let settled: [RevocationKey: Extent]
    private let recent: [RevocationKey: Extent]

    package static let empty = RevocationList(
        generation: 0, count: 0, supersededCount: 0, isTooOld: false, settled: [:], recent: [:])

    private init(
        generation: UInt64, count: Int, supersededCount: Int, isTooOld: Bool, settled: [RevocationKey: Extent],
        recent: [RevocationKey: Extent]
    ) {
        self.generation = generation
        self.count = count
        self.supersededCount = supersededCount
        self.isTooOld = isTooOld
        self.settled = settled
        self.recent = recent
    }

    package var isEmpty: Bool { count == 0 && supersededCount == 0 }

    /// Returns the list with further revocations. Two for the same tokens are merged into their union.
    package func adding(_ revocations: [Revocation]) -> RevocationList {
        var (settled, recent, count) = (settled, recent, count)
        for revocation in revocations {
            let key = RevocationKey(revocation)
            let extent = Extent(revocation)
            let known = recent[key] ?? settled[key]
            if known == nil { count += 1 }
            recent[key] = known?.merged(with: extent) ?? extent
        }
        Self.settle(&settled, &recent)
        return RevocationList(
            generation: generation + 1, count: count, supersededCount: supersededCount, isTooOld: isTooOld,
            settled: settled, recent: recent)
    }

    /// Whether the list already covers a revocation completely.
    package func includes(_ revocation: Revocation) -> Bool {
        let key = RevocationKey(revocation)
        guard let known = recent[key] ?? settled[key] else { return false }
        return known.merged(with: Extent(revocation)) == known
    }

    /// The revocations of this list that another does not include, without superseded tokens.
    package func revocations(notIn other: RevocationList) -> [Revocation] {
        settled.merging(recent) { _, later in later }.flatMap { key, extent in
            Self.revocations(key, extent).filter { !other.includes($0) }
        }
    }

    private static func revocations(_ key: RevocationKey, _ extent: Extent) -> [Revocation] {
        guard let kind = key.kind, let (issuer, value) = key.names else { return [] }
        func single(_ target: Revocation.Target) -> [Revocation] {
            [Revocation(issuer: issuer, target, endsAt: extent.endsAt)]
        }
        switch kind {
        case .originID: return single(.originID(value))
        case .tokenID: return single(.tokenID(value))
        case .session: return single(.session(value))
        case .superseded: return []
        case .subject:
            guard let spared = extent.spared else { return single(.subject(value, before: extent.before)) }
            let others = single(.otherSignIns(value, before: extent.before, sparing: spared.text))
            guard extent.beforeOfSpared > .min else { return others }
            return others + single(.subject(value, before: extent.beforeOfSpared))
        }
    }

    private static func settle(_ settled: inout [RevocationKey: Extent], _ recent: inout [RevocationKey: Extent]) {
        guard recent.count > 256 + settled.count / 16 else { return }
        settled.merge(recent) { _, later in later }
        recent = [:]
    }

    /// Returns the list with superseded tokens: one entry for each session, however often it was refreshed.
    ///
    /// - Parameter limit: the maximum number of sessions with such entries. The entries whose tokens end soonest are
    ///   removed first. Revocations are never removed.
    package func superseding(_ tokens: [SupersededTokens], limit: Int) -> RevocationList {
        var (settled, recent, count) = (settled, recent, supersededCount)
        for token in tokens {
            let key = RevocationKey(.superseded, token.sessionID, issuer: token.issuer)
            let known = recent[key] ?? settled[key]
            if known == nil { count += 1 }
            recent[key] = Extent(
                before: max(token.rotation, known?.before ?? 0), endsAt: max(token.endsAt, known?.endsAt ?? 0))
        }
        if count > limit {
            settled.merge(recent) { _, later in later }
            recent = [:]
            // An eighth is freed at once, so that not every further entry causes a search of all.
            let superseded = settled.filter { $0.key.kind == .superseded }.sorted { $0.value.endsAt < $1.value.endsAt }
            let left = limit - limit / 8
            for entry in superseded.prefix(max(0, superseded.count - left)) { settled[entry.key] = nil }
            count = min(superseded.count, left)
        }
        Self.settle(&settled, &recent)
        return RevocationList(
            generation: generation + 1, count: self.count, supersededCount: count, isTooOld: isTooOld,
            settled: settled, recent: recent)
    }

    /// Returns the list marked as too old or not; the list itself if that is no change.
    package func marked(tooOld isTooOld: Bool) -> RevocationList {
        guard isTooOld != self.isTooOld else { return self }
        return RevocationList(
            generation: generation + 1, count: count, supersededCount: supersededCount, isTooOld: isTooOld,
            settled: settled, recent: recent)
    }

    /// Returns the list without revocations whose tokens have all expired; the list itself if there are none. The
    /// generation stays the same, because both lists accept the same tokens.
    ///
    /// - Parameter now: seconds since 1970.
    package func removingEnded(now: Int64) -> RevocationList {
        let left = settled.merging(recent) { _, later in later }.filter { $0.value.endsAt > now }
        guard left.count < count + supersededCount else { return self }
        let superseded = left.count { $0.key.kind == .superseded }
        return RevocationList(
            generation: generation, count: left.count - superseded, supersededCount: superseded, isTooOld: isTooOld,
            settled: left, recent: [:])
    }

    /// Whether an otherwise valid token is revoked or superseded.
    package func revokes(_ token: VerifiedToken) -> Bool {
        isRevoked(token) || isSuperseded(token)
    }

    /// Whether a newer token of its session supersedes it.
    private func isSuperseded(_ token: VerifiedToken) -> Bool {
        guard supersededCount > 0, let rotation = token.claims[Self.rotationClaim]?.integerValue,
            let session = token.claims["sid"]?.stringValue
        else { return false }
        return extent(.superseded, session, token).map { rotation < $0.before } ?? false
    }

    /// As ``revokes(_:)``, but without superseded tokens.
    package func isRevoked(_ token: VerifiedToken) -> Bool {
        guard count > 0 else { return false }
        if let subject = extent(.subject, token.subject, token) {
            let signedIn = token.claims["auth_time"]?.numberValue?.numericDate ?? token.issuedAt
            // A sign-in later than the token's `iat` means that the clock was set back since: its time is unknown.
            guard let signedIn, signedIn <= token.issuedAt ?? signedIn else { return true }
            // The gateway's own sessions only have a `sid`.
            let signIn = token.claims["origin_jti"]?.stringValue ?? token.claims["sid"]?.stringValue
            guard signedIn > subject.before(of: signIn) else { return true }
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
