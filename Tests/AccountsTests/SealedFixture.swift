import Cryptography
import TestSupport

@testable import Accounts

extension Fixture {
    static var sealed: SealedRefreshToken {
        SealedRefreshToken(
            clientID: clientID, username: username, subject: username, originID: "origin-1",
            refreshToken: Secret("provider-refresh-token"), deviceID: "device-1", deviceKey: nil,
            family: [UInt8](repeating: 9, count: 16), generation: 0, issuedAt: now, expiresAt: now + 1000)
    }

    static func sealedText(_ token: SealedRefreshToken = sealed) throws -> Secret {
        try token.sealed(with: ring(), poolID: poolID)
    }
}
