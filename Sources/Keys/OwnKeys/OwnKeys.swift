internal import Clocks
internal import Encoding
internal import Pipeline
package import Settings
package import Store

/// The gateway's own keys as an operator sees and changes them. A running gateway follows at SIGHUP; the keys that it
/// signs with it looks at once a minute by itself.
package struct OwnKeys: Sendable {
    private let settings: GatewaySettings
    private let now: Int64

    /// - Parameter now: seconds since 1970; nil for the present.
    package init(_ settings: GatewaySettings, now: Int64? = nil) {
        self.settings = settings
        self.now = now ?? WallClock.seconds()
    }

    /// One of the keys, without what is secret of it.
    package struct Listed: Sendable {
        package var purpose: KeyPurpose
        /// next, current or previous.
        package var state: String
        /// When it took that state, or a word for a time that nobody knows.
        package var since: String
        package var id: String
    }

    package func list(_ purpose: KeyPurpose) throws -> [Listed] {
        let configured = purpose == .sealing ? configuredSealingKeys : []
        guard configured.isEmpty || usesSealingFile, let ring = try file(purpose).read() else { return configured }
        return configured
            + ring.keys.map { key in
                let since = key.since == 0 ? "unknown" : Timestamp.text(key.since)
                return Listed(purpose: purpose, state: key.state.rawValue, since: since, id: key.id)
            }
    }

    /// Makes the first keys where there are none.
    ///
    /// - Returns: what was done, in words.
    package func generate(_ purpose: KeyPurpose) throws -> String {
        try requireUnconfigured(purpose)
        let file = file(purpose)
        if let ring = try file.read() { return "\(file.path): there are \(ring.keys.count) keys already" }
        if purpose == .limits {
            let ring = try KeyRingFile.limits(stateDirectory: settings.stateDirectory, now: now)
            return "\(file.path): made, key \(ring.current?.id ?? "")"
        }
        let ring = try file.update { ring in
            let make = { try NewKey.make(for: purpose) }
            // Another process may have been faster.
            var made = try ring ?? KeyRing(first: make(), now: now)
            _ = try made.advance(now: now, schedule(purpose), for: purpose, make: make)
            ring = made
        }
        return "\(file.path): made, key \(ring.current?.id ?? "")"
    }

    /// Lets the next key take over.
    ///
    /// - Parameters:
    ///   - atOnce: also when some verifiers may not know it yet.
    ///   - isCompromised: the key in use goes at once, with all that it signed or sealed.
    /// - Returns: what was done, in words.
    package func rotate(_ purpose: KeyPurpose, atOnce: Bool = false, isCompromised: Bool = false) throws -> String {
        try requireUnconfigured(purpose)
        let file = file(purpose)
        let ring = try file.update { ring in
            guard var rotated = ring else {
                throw KeyFileError(file.path, "there are no keys yet: generate them first")
            }
            if let ready = rotated.nextIsReady(schedule(purpose)), ready > now, !atOnce, !isCompromised {
                throw KeyFileError(
                    file.path,
                    "some verifiers may not know the next key before \(Timestamp.text(ready)), because it was published so "
                        + "lately; --now rotates all the same")
            }
            let make = { try NewKey.make(for: purpose) }
            try rotated.rotate(now: now, for: purpose, discardingCurrent: isCompromised, make: make)
            _ = try rotated.advance(now: now, schedule(purpose), for: purpose, make: make)
            ring = rotated
        }
        // A running gateway would lose all counts made with the other key at once.
        let follows = purpose == .limits ? "a gateway follows at its next start" : "a running gateway follows at SIGHUP"
        let done = "\(file.path): rotated, key \(ring.current?.id ?? ""); \(follows)"
        guard purpose == .sealing, !configuredSealingKeys.isEmpty else { return done }
        return done + "; keys under sealing_keys stay: put a new one in front there (\"id:base64\")"
    }

    private func file(_ purpose: KeyPurpose) -> KeyRingFile {
        KeyRingFile(purpose, stateDirectory: settings.stateDirectory)
    }

    /// The keys of all pools' `sealing_keys`; one that several pools have is listed once.
    private var configuredSealingKeys: [Listed] {
        var listed: [Listed] = []
        for (index, key) in settings.signIn.pools.flatMap({ $0.sealingKeys.enumerated() })
        where !listed.contains(where: { $0.id == key.id }) {
            let state = index == 0 ? "current" : "previous"
            listed.append(Listed(purpose: .sealing, state: state, since: "configured", id: key.id))
        }
        return listed
    }

    /// Whether anything is sealed with the keys in the state directory: what Sign in with Apple keeps is, and the
    /// tokens of pools that have no `sealing_keys`.
    private var usesSealingFile: Bool {
        settings.signIn.apple != nil || settings.signIn.pools.contains { $0.sealingKeys.isEmpty }
    }

    private func requireUnconfigured(_ purpose: KeyPurpose) throws {
        guard purpose == .sealing, !configuredSealingKeys.isEmpty, !usesSealingFile else { return }
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
        case .limits:
            return RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 0)
        case .audit:
            // Kept, so that what was logged can be searched for a user.
            return RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 366 * 86_400)
        case .sealing:
            var lifetimes = settings.signIn.pools.flatMap {
                [$0.signIn.refreshLifetime, $0.signIn.deviceTokenLifetime]
            }
            // Apple's tokens end with their users only.
            if settings.signIn.apple?.server != nil { lifetimes.append(3650 * 86_400) }
            return RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: lifetimes.max() ?? 30 * 86_400)
        }
    }
}
