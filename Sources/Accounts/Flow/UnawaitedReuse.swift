internal import HTTPClient
package import Logging
package import Pipeline

/// The use of a token or code that was used before, by a client that has gone.
package enum UnawaitedReuse {
    /// Refuses to judge it, so that no session ends. A gateway that was frozen reads late what its app has asked another
    /// gateway for since. Whoever presents a stolen token and goes gets nothing either.
    package static func refuse(requestID: String, _ logger: Logger) async throws(Refusal) {
        guard let request = CalledRequest.current, await request.isAbandoned() else { return }
        logger.notice(
            "a token or code that was used before is not judged: its client has gone",
            metadata: ["request_id": "\(requestID)"])
        throw .retryLater(.serviceUnavailable, after: 1, reason: .request(.clientDisconnected))
    }
}
