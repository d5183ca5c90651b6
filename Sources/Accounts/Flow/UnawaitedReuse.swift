internal import HTTPClient
package import Logging
package import Pipeline

/// The reuse of a token or code by a client that has disconnected.
package enum UnawaitedReuse {
    /// Refuses the request without a decision on the reuse, so that no session ends. A gateway that was suspended may
    /// read late a request that the app has since repeated at another gateway. Somebody who presents a stolen token and
    /// disconnects gets nothing either.
    ///
    /// - Throws: 503 if the client has disconnected.
    package static func refuse(requestID: String, _ logger: Logger) async throws(Refusal) {
        guard let request = CalledRequest.current, await request.isAbandoned() else { return }
        logger.notice(
            "a token or code that was used before is not judged: its client has gone",
            metadata: ["request_id": "\(requestID)"])
        throw .retryLater(.serviceUnavailable, after: 1, reason: .request(.clientDisconnected))
    }
}
