package import Logging
package import Pipeline

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
        throw .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionRecordsUnavailable))
    }
}
