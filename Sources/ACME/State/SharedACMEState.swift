internal import Cryptography
internal import Locking
package import Sealing
package import Store

/// Why the state that several gateways share cannot be used, in an operator's words.
package struct SharedACMEError: Error, Equatable, CustomStringConvertible {
    /// The key of the configuration that names the keys that seal the state.
    package static let setting = "state.postgres.sealing_keys"

    package let description: String

    init(_ what: String) {
        description = "the certificates in the database \(what)"
    }
}

/// The state in a database that several gateways share. It is sealed with keys of the configuration, which bind it to
/// its version.
package final class SharedACMEState: ACMEStorage {
    private struct Known {
        var version: Int64 = 0
        var state = ACMEState()
    }

    private let records: any ACMERecords
    private let sealingKeys: SealingKeyRing
    /// The newest state that was read or written, so that a look for changes does not open what it knows.
    private let known = Locked(Known())

    package var isShared: Bool { true }

    /// How often a change is tried beside other writers.
    private static let tries = 16

    /// - Parameter sealingKeys: the first seals, all open.
    package init(_ records: any ACMERecords, sealedWith sealingKeys: SealingKeyRing) {
        self.records = records
        self.sealingKeys = sealingKeys
    }

    package func read() async throws -> ACMEState { try await newest().state }

    private func newest() async throws -> Known {
        let before = known.withLock { $0 }
        guard let record = try await records.state(otherThan: before.version) else { return before }
        let found = Known(version: record.version, state: try open(record))
        known.withLock { $0 = found }
        return found
    }

    /// Forgets what was known. Without a row, as after an operator has deleted it, the next version is the first.
    private func readAnew() async throws {
        var found = Known()
        if let record = try await records.state(otherThan: found.version) {
            found = Known(version: record.version, state: try open(record))
        }
        let newest = found
        known.withLock { $0 = newest }
    }

    package func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState {
        for _ in 0..<Self.tries {
            let before = try await newest()
            var state = before.state
            change(&state)
            guard state != before.state else { return state }
            let version = before.version + 1
            guard try await records.replace(with: sealed(state, version)) else {
                try await readAnew()
                continue
            }
            let stored = Known(version: version, state: state)
            known.withLock { $0 = stored }
            return state
        }
        throw SharedACMEError("are changed by others all the time")
    }

    package func reseal() async throws {
        for _ in 0..<Self.tries {
            guard let record = try await records.state(otherThan: 0) else { return }
            let state = try open(record)
            guard !SealedText.isCurrent(Secret(record.sealed), sealingKeys) else { return }
            if try await records.replace(with: sealed(state, record.version + 1)) { return }
        }
        throw SharedACMEError("are changed by others all the time")
    }

    package func lease(to holder: String, seconds: Int64) async throws -> Bool {
        try await records.lease(to: holder, seconds: seconds)
    }

    package func endLease(of holder: String) async throws { try await records.endLease(of: holder) }

    /// The one version in which a sealed state opens.
    private func sealed(_ state: ACMEState, _ version: Int64) throws -> ACMERecord {
        let encoded = state.encoded()
        guard encoded.count <= ACMEState.longest else {
            throw SharedACMEError("would take \(encoded.count) bytes, which is more than \(ACMEState.longest)")
        }
        let sealed = try SealedText.seal(
            encoded, as: .certificates, with: sealingKeys, poolID: "acme \(version)")
        return ACMERecord(version: version, sealed: sealed.expose())
    }

    private func open(_ record: ACMERecord) throws -> ACMEState {
        do {
            return try ACMEState(
                decoding: SealedText.open(
                    Secret(record.sealed), as: .certificates, with: sealingKeys, poolID: "acme \(record.version)"))
        } catch is InvalidSealedToken {
            throw SharedACMEError(
                "do not open with the keys of \(Self.setting): enter the key that has sealed them there, also after "
                    + "another one that is to seal; or delete the row of acme_state to have them obtained anew")
        } catch {
            throw SharedACMEError("have a form that this version does not know")
        }
    }

    private static var setting: String { SharedACMEError.setting }
}
