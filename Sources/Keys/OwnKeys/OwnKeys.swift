internal import Encoding
internal import Pipeline
package import Settings
package import Store

/// The gateway's own keys, for an operator to list and change. A running gateway follows at SIGHUP. It also checks its
/// signing keys once a minute, and all keys that several gateways share every ten seconds.
package struct OwnKeys: Sendable {
    private let settings: GatewaySettings
    private let rings: KeyRings
    private let now: Int64

    /// - Parameter now: seconds since 1970; nil for the present, by the clock of all gateways if they share the keys.
    package init(_ settings: GatewaySettings, _ rings: KeyRings, now: Int64? = nil) {
        self.settings = settings
        self.rings = rings
        self.now = now ?? rings.now()
    }

    /// One key, without its secret.
    package struct Listed: Sendable {
        package var purpose: KeyPurpose
        /// next, current or previous.
        package var state: String
        /// The time at which it entered that state, or a word if the time is unknown.
        package var since: String
        package var id: String
    }

    package func list(_ purpose: KeyPurpose) async throws -> [Listed] {
        let configured = purpose == .sealing ? configuredSealingKeys : []
        guard configured.isEmpty || settings.sealsWithOwnKeys, let ring = try await rings[purpose].read() else {
            return configured
        }
        return configured
            + ring.keys.map { key in
                let since = key.since == 0 ? "unknown" : Timestamp.text(key.since)
                return Listed(purpose: purpose, state: key.state.rawValue, since: since, id: key.id)
            }
    }

    /// Creates the first keys if there are none.
    ///
    /// - Returns: a description of what was done.
    package func generate(_ purpose: KeyPurpose) async throws -> String {
        try requireUnconfigured(purpose)
        let storage = rings[purpose]
        if let ring = try await storage.read() { return "\(storage.place): there are \(ring.keys.count) keys already" }
        if purpose == .limits {
            let ring = try await rings.limits(now: now)
            return "\(storage.place): made, key \(ring.current?.id ?? "")"
        }
        let (now, schedule) = (now, schedule(purpose))
        let ring = try await storage.update { ring in
            let make = { try NewKey.make(for: purpose) }
            // Another process may have been faster.
            var made = try ring ?? KeyRing(first: make(), now: now)
            _ = try made.advance(now: now, schedule, for: purpose, make: make)
            ring = made
        }
        return "\(storage.place): made, key \(ring.current?.id ?? "")"
    }

    /// Makes the next key current.
    ///
    /// - Parameters:
    ///   - atOnce: whether to rotate even if some verifiers or gateways may not know the next key yet.
    ///   - discarded: the keys to remove at once, with all that they signed or sealed.
    /// - Returns: a description of what was done.
    package func rotate(
        _ purpose: KeyPurpose, atOnce: Bool = false, discarding discarded: DiscardedKeys = .none
    ) async throws -> String {
        try requireUnconfigured(purpose)
        let storage = rings[purpose]
        let (now, schedule, place) = (now, schedule(purpose), storage.place)
        let ring = try await storage.update { ring in
            guard var rotated = ring else {
                throw KeyFileError(place, "there are no keys yet: generate them first")
            }
            if let ready = rotated.nextIsReady(schedule), ready > now, !atOnce, discarded == .none {
                let others = purpose.publishesKeys ? "verifiers" : "gateways"
                throw KeyFileError(
                    place,
                    "some \(others) may not know the next key before \(Timestamp.text(ready)), because it was published "
                        + "so lately; --now rotates all the same")
            }
            let make = { try NewKey.make(for: purpose) }
            rotated.use(by: schedule)
            try rotated.rotate(
                now: now, for: purpose, isShared: schedule.isShared, discarding: discarded, make: make)
            _ = try rotated.advance(now: now, schedule, for: purpose, make: make)
            ring = rotated
        }
        let done = "\(place): rotated, key \(ring.current?.id ?? ""); \(followers(purpose))"
        guard purpose == .sealing, !configuredSealingKeys.isEmpty else { return done }
        return done + "; keys under sealing_keys stay: put a new one in front there (\"id:base64\")"
    }

    /// Seals the keys that several gateways share with the first key of `state.postgres.sealing_keys`.
    ///
    /// - Returns: a description of what was done.
    package func reseal() async throws -> String {
        guard rings.isShared else {
            throw KeyFileError(settings.stateDirectory, "key files are not sealed: there is nothing to do")
        }
        var resealed: [String] = []
        for purpose in KeyPurpose.allCases where try await rings[purpose].reseal() { resealed.append(purpose.rawValue) }
        guard !resealed.isEmpty else {
            return "all keys are sealed with the first of \(SharedKeyError.setting) already"
        }
        return "sealed with the first of \(SharedKeyError.setting): the \(resealed.joined(separator: ", ")) keys"
    }

    /// A description of when gateways use a rotated key.
    private func followers(_ purpose: KeyPurpose) -> String {
        // A running gateway would at once lose all counts made with the previous key.
        if purpose == .limits { return "a gateway follows at its next start" }
        guard rings.isShared else { return "a running gateway follows at SIGHUP" }
        return "running gateways follow within \(FollowedKeyRing.interval(isShared: true)) seconds"
    }

    /// The keys of all pools' `sealing_keys`; a key of several pools is listed once.
    private var configuredSealingKeys: [Listed] {
        var listed: [Listed] = []
        for (index, key) in settings.signIn.pools.flatMap({ $0.sealingKeys.enumerated() })
        where !listed.contains(where: { $0.id == key.id }) {
            let state = index == 0 ? "current" : "previous"
            listed.append(Listed(purpose: .sealing, state: state, since: "configured", id: key.id))
        }
        return listed
    }

    private func requireUnconfigured(_ purpose: KeyPurpose) throws {
        guard purpose == .sealing, !configuredSealingKeys.isEmpty, !settings.sealsWithOwnKeys else { return }
        throw KeyFileError(
            "sign_in.cognito.sealing_keys",
            "these keys are in use; to rotate them put a new one in front (\"id:base64\")")
    }

    private func schedule(_ purpose: KeyPurpose) -> RotationSchedule {
        switch purpose {
        case .assertion, .session:
            let configured =
                purpose == .session ? RotationSchedule.sessionKeys(settings) : RotationSchedule.assertionKeys(settings)
            return configured ?? RotationSchedule(rotateEvery: nil, publishAhead: 3600, keepPrevious: 86_400)
        case .limits: return RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 0)
        case .audit: return .auditKeys(isShared: rings.isShared)
        case .sealing: return .sealingKeys(settings, isShared: rings.isShared)
        }
    }
}
