internal import Cryptography
package import Logging
package import Pipeline
internal import Sealing

/// Accesses the records of sessions and users.
///
/// - Throws: 503 if they cannot be used; the error is logged.
package func usingRecords<Value>(
    _ requestID: String, _ logger: Logger, _ work: () async throws -> Value
) async throws(Refusal) -> Value {
    do {
        return try await work()
    } catch {
        logger.error(
            "the session records cannot be used", metadata: ["request_id": "\(requestID)", "error": "\(error)"])
        throw .recordsUnavailable
    }
}

extension SealingKeyRing {
    /// Checks a text that cannot be unsealed.
    ///
    /// - Throws: 503 if another gateway may have sealed it with a key that this one does not have yet. A 401 would sign
    ///   the user out.
    func requireKey(of text: Secret) throws(Refusal) {
        guard !mayLackKey(of: text) else { throw .recordsUnavailable }
    }
}

extension Refusal {
    static var recordsUnavailable: Refusal {
        .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionRecordsUnavailable))
    }
}
