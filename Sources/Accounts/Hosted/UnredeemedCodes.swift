internal import Cognito
internal import Cryptography
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Ends sign-ins at Cognito whose authorization code nobody has redeemed. Their refresh tokens, which nobody has, would
/// stay valid there for as long as the app client allows.
package final class UnredeemedCodes: Sendable {
    private static let interval = Duration.seconds(60)

    private let accounts: [CognitoAccounts]

    /// - Returns: nil if no pool has hosted sign-in.
    package init?(_ accounts: [CognitoAccounts]) {
        self.accounts = accounts.filter { $0.hosted != nil }
        if self.accounts.isEmpty { return nil }
    }

    /// Runs until cancelled. The first round is immediate, since codes can have expired while no gateway was running.
    package func run() async {
        while !Task.isCancelled {
            for each in accounts where !Task.isCancelled { await each.endUnredeemed() }
            do {
                try await Task.sleep(for: Self.interval)
            } catch {
                return
            }
        }
    }
}

extension CognitoAccounts {
    private static let unredeemedAtOnce = 16
    /// The maximum number of sign-ins that one round ends.
    private static let maximumUnredeemed = 1024

    /// Ends the sign-ins whose codes have expired unused. Each is tried once, and nothing depends on it.
    func endUnredeemed() async {
        guard let hosted else { return }
        var (count, ended) = (0, 0)
        repeat {
            // A separate task: a reload or stop must not interrupt the work on records that were taken.
            ended = await Task { await endSomeUnredeemed(hosted) }.value
            count += ended
        } while ended == Self.unredeemedAtOnce && count < Self.maximumUnredeemed && !Task.isCancelled
    }

    /// - Returns: the number of codes; 0 if the store or Cognito is unavailable.
    private func endSomeUnredeemed(_ hosted: HostedSignIn) async -> Int {
        let results: [[UInt8]]
        do {
            results = try await hosted.codes.takeUnused(
                poolID: settings.poolID, now: now(), limit: Self.unredeemedAtOnce)
        } catch {
            logger.debug(
                "unredeemed authorization codes cannot be read",
                metadata: ["pool_id": "\(settings.poolID)", "error": "\(error)"])
            return 0
        }
        for result in results where await !endUnredeemed(result) { return 0 }
        return results.count
    }

    /// - Returns: false if Cognito is unavailable.
    private func endUnredeemed(_ text: [UInt8]) async -> Bool {
        let error: any Error
        do {
            // The sign-in may be of another app client of the pool.
            let results = ([sealingKeys] + siblings.sealingKeys).lazy.compactMap { ring in
                try? SealedCodeResult(opening: text, with: ring, poolID: settings.poolID)
            }
            guard let result = results.first else { throw InvalidSealedToken() }
            guard let token = result.refreshToken, let app = poolClient(result.clientID) else { return true }
            try await revokeToken(token, of: app)
            return true
        } catch let failure {
            error = failure
        }
        logger.debug(
            "an unredeemed sign-in continues at Cognito",
            metadata: ["pool_id": "\(settings.poolID)", "error": "\((error as? CognitoError)?.type ?? "\(error)")"])
        return (error as? CognitoError)?.kind != .unavailable
    }
}
