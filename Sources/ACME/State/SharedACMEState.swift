internal import Cryptography
internal import Locking
package import Sealing
package import Store

/// The reason why the state shared by several gateways cannot be used, for an operator.
package struct SharedACMEError: Error, Equatable, CustomStringConvertible {
    /// The configuration key of the keys that seal the state.
    package static let setting = "state.postgres.sealing_keys"

    package let description: String

    init(_ what: String) {
        description = "the certificates in the database \(what)"
    }
}

/// The state in a database shared by several gateways. It is sealed with keys of the configuration and bound to its
/// version.
package final class SharedACMEState: ACMEStorage {
    private struct Known {
        /// Nil if nothing is stored.
        var version: ACMEVersion?
        var state = ACMEState()
    }

    private let records: any ACMERecords
    private let sealingKeys: SealingKeyRing
    /// The newest state that was read or written, so that polling for changes does not open it again.
    private let known = Locked(Known())

    package var isShared: Bool { true }

    /// The maximum number of attempts for a change that conflicts with other writers.
    private static let tries = 16

    /// - Parameter sealingKeys: the first key seals, all keys open.
    package init(_ records: any ACMERecords, sealedWith sealingKeys: SealingKeyRing) {
        self.records = records
        self.sealingKeys = sealingKeys
    }

    package func read() async throws -> ACMEState { try await newest().state }

    private func newest() async throws -> Known {
        let before = known.withLock { $0 }
        guard let record = try await records.state(otherThan: before.version) else { return before }
        let found = try open(record)
        known.withLock { $0 = found }
        return found
    }

    /// Discards the known state and reads again. Without a row, as after an operator has deleted it, the next version
    /// is the first.
    private func readAnew() async throws {
        let found = try await records.state(otherThan: nil).map(open) ?? Known()
        known.withLock { $0 = found }
    }

    package func update(_ change: @Sendable (inout ACMEState) -> Void) async throws -> ACMEState {
        for _ in 0..<Self.tries {
            let before = try await newest()
            var state = before.state
            change(&state)
            guard state != before.state else { return state }
            let record = try sealed(state, after: before.version)
            guard try await records.replace(before.version, with: record) else {
                try await readAnew()
                continue
            }
            let stored = Known(version: Self.version(of: record), state: state)
            known.withLock { $0 = stored }
            return state
        }
        throw SharedACMEError("are changed by others all the time")
    }

    package func reseal() async throws {
        for _ in 0..<Self.tries {
            guard let record = try await records.state(otherThan: nil) else { return }
            let stored = try open(record)
            guard !SealedText.isCurrent(Secret(record.sealed), sealingKeys) else { return }
            if try await records.replace(stored.version, with: sealed(stored.state, after: stored.version)) { return }
        }
        throw SharedACMEError("are changed by others all the time")
    }

    package func lease(to holder: String, seconds: Int64) async throws -> Bool {
        try await records.lease(to: holder, seconds: seconds)
    }

    package func endLease(of holder: String) async throws { try await records.endLease(of: holder) }

    /// Seals the state for the next version; it opens only as that version.
    private func sealed(_ state: ACMEState, after known: ACMEVersion?) throws -> ACMERecord {
        let version = (known?.number ?? 0) + 1
        let encoded = state.encoded()
        guard encoded.count <= ACMEState.longest else {
            throw SharedACMEError("would take \(encoded.count) bytes, which is more than \(ACMEState.longest)")
        }
        let sealed = try SealedText.seal(
            encoded, as: .certificates, with: sealingKeys, poolID: "acme \(version)")
        return ACMERecord(version: version, sealed: sealed.expose())
    }

    private static func version(of record: ACMERecord) -> ACMEVersion {
        ACMEVersion(number: record.version, digest: SHA256.hash(record.sealed))
    }

    private func open(_ record: ACMERecord) throws -> Known {
        do {
            let state = try ACMEState(
                decoding: SealedText.open(
                    Secret(record.sealed), as: .certificates, with: sealingKeys, poolID: "acme \(record.version)"))
            return Known(version: Self.version(of: record), state: state)
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
