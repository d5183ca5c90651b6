internal import Cryptography
internal import Encoding

/// The tokens verified on one event loop, with eviction of the least recently used.
///
/// The key is the token's whole text, so that only text that was verified byte for byte is accepted. Not `Sendable` and
/// without locks: each event loop has its own.
///
/// `Extra` is what the owner derives from a token once and needs at each request, such as complete header lines.
package final class VerifiedTokenCache<Extra> {
    /// One verified token. A class, so that a hit costs one reference count and not one for each claim.
    package final class Entry {
        package let token: VerifiedToken
        let extra: Extra
        /// Whether the attributes of the token's user must still be read.
        let lacksAttributes: Bool
        /// The requirements that the token is known to meet.
        var met = MetRequirements()
        /// The assertions signed for backends from this token.
        package var assertions = IssuedAssertions()
        /// The token's `sub`, and the second at which it ends, without a copy of the token.
        package var subject: String { token.subject }
        var tokenEndsAt: Int64 { proof.endsAt }
        fileprivate let proof: TokenProof
        /// The second at which the entry ends at the latest.
        fileprivate let endsAt: Int64

        fileprivate init(
            token: VerifiedToken, extra: Extra, lacksAttributes: Bool, proof: TokenProof, endsAt: Int64
        ) {
            self.token = token
            self.extra = extra
            self.lacksAttributes = lacksAttributes
            self.proof = proof
            self.endsAt = endsAt
        }
    }

    package enum Lookup {
        case hit(Entry)
        /// The token is verified but not accepted here.
        case rejected(RejectReason)
        /// The token is verified and was revoked.
        case revoked(VerifiedToken)
        /// The token is verified, but it is unknown whether it is revoked.
        case undecided
        /// The token must be verified.
        case miss
    }

    private struct Slot {
        var text: String
        var entry: Entry?
        /// The generation of the last key set that was found to contain the entry's key.
        var generation: UInt64
        /// The generation of the last list of revocations that did not revoke the token.
        var revocations: UInt64
        var cost: Int
        /// The adjacent slots in order of use; in a free slot, `older` is the next free one.
        var newer: Int
        var older: Int
    }

    /// The maximum time until a token must be verified again, in seconds, whatever its `exp`.
    private static var maximumLife: Int64 { 86_400 }
    /// The bytes for each byte of text, including the decoded claims (about twice the text). ``fixedCost`` is for the
    /// slot and the entry.
    private static var costFactor: Int { 3 }
    private static var fixedCost: Int { 1024 }
    private static var none: Int { -1 }

    /// The current revocations. After a change, each token accepted before is checked once more.
    package var revocations = RevocationList.empty {
        didSet { revocationGeneration = revocations.generation }
    }
    private var revocationGeneration = RevocationList.empty.generation

    private let maximumEntries: Int
    private let maximumBytes: Int
    private var bytes = 0
    private var hits = 0
    private var misses = 0
    private var index = SlotIndex()
    private var slots: [Slot] = []
    private var newest = none
    private var oldest = none
    private var firstFree = none

    /// The headers of verified tokens, including tokens that are no longer cached.
    let headers = TokenHeaders()
    /// Nil if the process has only one event loop.
    let signatures: LoopSignatures?

    /// The number of cached tokens, and their approximate size in bytes.
    package var count: Int { index.count }
    package var byteCount: Int { bytes }
    /// The number of lookups that found their token, and of those that did not.
    package var hitCount: Int { hits }
    package var missCount: Int { misses }
    /// The number of misses whose signature the process already knew.
    package var sharedCount: Int { signatures?.foundCount ?? 0 }

    /// - Parameter signatures: the signatures that any event loop has verified.
    package init(
        maximumEntries: Int = 10_000, maximumBytes: Int = 64 << 20, signatures: VerifiedSignatures? = nil
    ) {
        self.signatures = signatures.map(LoopSignatures.init)
        self.maximumEntries = maximumEntries
        self.maximumBytes = maximumBytes
    }

    /// Looks up a token by its text.
    ///
    /// - Parameters:
    ///   - accepting: As for ``TokenVerifier/verify(_:accepting:keys:now:)``; checked at each hit, because a token may
    ///     have been verified for another route.
    ///   - keys: Returns the current key set of the issuer at an index. An entry whose key is gone or changed is
    ///     removed.
    ///   - now: Seconds since 1970.
    package func lookup(
        _ token: String, accepting: TokenAcceptance, keys: (_ issuerIndex: Int) -> KeySet?, now: Int64
    ) -> Lookup {
        guard let index = slot(of: token), let entry = slots[index].entry else {
            misses += 1
            return .miss
        }
        guard now < entry.endsAt, isStillSigned(index, entry, keys(entry.proof.issuerIndex)) else {
            remove(index)
            misses += 1
            return .miss
        }
        hits += 1
        moveToFront(index)
        if slots[index].revocations != revocationGeneration {
            guard !revocations.isTooOld else { return .undecided }
            guard !revocations.revokes(entry.token) else { return .revoked(entry.token) }
            slots[index].revocations = revocationGeneration
        }
        let reason = accepting.rejection(issuerName: entry.token.issuerName, use: entry.token.tokenUse)
        if let reason { return .rejected(reason) }
        return .hit(entry)
    }

    /// Caches a token that ``TokenVerifier`` verified and returns its entry, even if it is too large to cache. The
    /// caller has checked that ``revocations`` does not revoke it.
    ///
    /// - Parameters:
    ///   - extraBytes: The approximate size of `extra`.
    ///   - lacksAttributes: Whether the attributes of the token's user must still be read.
    /// - Returns: Nil for a token without a proof, which was not verified.
    @discardableResult
    package func insert(
        _ text: String, _ token: VerifiedToken, extra: Extra, extraBytes: Int, lacksAttributes: Bool = false,
        now: Int64
    ) -> Entry? {
        guard let proof = token.proof else { return nil }
        if let index = slot(of: text) { remove(index) }
        let endsAt = min(proof.endsAt, now + Self.maximumLife)
        let entry = Entry(
            token: token, extra: extra, lacksAttributes: lacksAttributes, proof: proof, endsAt: endsAt)
        let cost = text.utf8.count * Self.costFactor + extraBytes + Self.fixedCost
        guard maximumEntries > 0, cost <= maximumBytes else { return entry }
        while count >= maximumEntries || bytes + cost > maximumBytes { remove(oldest) }
        let slot = Slot(
            text: text, entry: entry, generation: proof.generation, revocations: revocationGeneration, cost: cost,
            newer: Self.none, older: Self.none)
        let place = store(slot)
        index.insert(place, TokenText.hash(of: text))
        bytes += cost
        linkAtFront(place)
        return entry
    }

    /// Removes the tokens of a subject, so that they are verified again.
    package func removeAll(of subject: String) {
        for place in slots.indices where slots[place].entry?.subject.hasSameBytes(as: subject) == true {
            remove(place)
        }
    }

    /// Removes all tokens, as after a change of the configured issuers, to which the entries' indexes refer.
    package func removeAll() {
        index.removeAll()
        slots.removeAll()
        newest = Self.none
        oldest = Self.none
        firstFree = Self.none
        bytes = 0
    }

    /// Whether the issuer's current key set still contains the key that signed the entry's token.
    private func isStillSigned(_ index: Int, _ entry: Entry, _ keySet: KeySet?) -> Bool {
        guard let keySet else { return false }
        if keySet.generation == slots[index].generation { return true }
        let proven = entry.proof.key
        guard let key = keySet.key(id: entry.token.keyID, algorithm: proven.algorithm), key.isSameKey(as: proven)
        else { return false }
        slots[index].generation = keySet.generation
        return true
    }

    private func slot(of text: String) -> Int? {
        index.slot(TokenText.hash(of: text)) { TokenText.isSame(slots[$0].text, text) }
    }

    private func store(_ slot: Slot) -> Int {
        guard firstFree != Self.none else {
            slots.append(slot)
            return slots.count - 1
        }
        let index = firstFree
        firstFree = slots[index].older
        slots[index] = slot
        return index
    }

    private func remove(_ index: Int) {
        unlink(index)
        self.index.remove(index)
        bytes -= slots[index].cost
        slots[index] = Slot(
            text: "", entry: nil, generation: 0, revocations: 0, cost: 0, newer: Self.none, older: firstFree)
        firstFree = index
    }

    private func moveToFront(_ index: Int) {
        guard index != newest else { return }
        unlink(index)
        linkAtFront(index)
    }

    private func linkAtFront(_ index: Int) {
        slots[index].newer = Self.none
        slots[index].older = newest
        if newest != Self.none { slots[newest].newer = index }
        newest = index
        if oldest == Self.none { oldest = index }
    }

    private func unlink(_ index: Int) {
        let (newer, older) = (slots[index].newer, slots[index].older)
        if newer != Self.none { slots[newer].older = older } else { newest = older }
        if older != Self.none { slots[older].newer = newer } else { oldest = newer }
    }
}
