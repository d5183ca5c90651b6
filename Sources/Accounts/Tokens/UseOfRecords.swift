internal import Cryptography
package import Logging
package import Pipeline
internal import Sealing

/// Does something with the records of sessions and users.
///
/// - Throws: 503 where they cannot be used, and the log says why.
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
    /// - Throws: 503 for a text that does not open, if another gateway may have sealed it with a key that this one could
    ///   not read yet. A 401 would sign the user out.
    func requireKey(of text: Secret) throws(Refusal) {
        guard !mayLackKey(of: text) else { throw .recordsUnavailable }
    }
}

extension Refusal {
    static var recordsUnavailable: Refusal {
        .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionRecordsUnavailable))
    }
}
