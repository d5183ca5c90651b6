/// The client of an SRP exchange, which knows the password.
package struct SRPClient: Sendable {
    private let a: SRPNumber
    /// `A`, for `SRP_A`.
    package let publicValue: SRPNumber

    /// - Parameter random: 32 or more random bytes, for this exchange only.
    package init(random: [UInt8]) throws(CryptographyError) {
        a = SRPNumber(random)
        publicValue = try SRP.clientPublicValue(a)
    }

    /// The proof of the password, for `PASSWORD_CLAIM_SIGNATURE`, before base64.
    ///
    /// - Parameters:
    ///   - serverPublicValue: `SRP_B`.
    ///   - secretBlock: `SECRET_BLOCK`, decoded.
    ///   - timestamp: ``SRPTimestamp/text(at:)``; the same text is sent.
    /// - Throws: ``SRPError`` if the server's value would reveal the password or make the exchange worthless.
    package func signature(
        identity: SRPIdentity, password: Secret, salt: SRPNumber, serverPublicValue: SRPNumber, secretBlock: [UInt8],
        timestamp: String
    ) throws(SRPError) -> [UInt8] {
        let scrambler = try SRP.scrambler(clientPublicValue: publicValue, serverPublicValue: serverPublicValue)
        let privateKey = SRP.privateKey(salt: salt, identity: identity, password: password)
        let secret: SRPNumber
        do {
            secret = try SRP.clientSecret(
                serverPublicValue: serverPublicValue, a: a, privateKey: privateKey, scrambler: scrambler)
        } catch {
            throw .calculation(error)
        }
        let key = SRP.sessionKey(secret: secret, scrambler: scrambler)
        return identity.signature(key: key, secretBlock: secretBlock, timestamp: timestamp)
    }
}

/// The server of an SRP exchange, which stores the verifier.
package struct SRPServer: Sendable {
    private let b: SRPNumber
    private let verifier: SRPNumber
    /// `B`, for `SRP_B`.
    package let publicValue: SRPNumber

    /// - Parameter random: 32 or more random bytes, for this exchange only.
    package init(verifier: SRPNumber, random: [UInt8]) throws(CryptographyError) {
        b = SRPNumber(random)
        self.verifier = verifier
        publicValue = try SRP.serverPublicValue(b, verifier: verifier)
    }

    /// The session key, which a client with the right password also has.
    ///
    /// - Throws: ``SRPError`` if the client's value would reveal the key without the password.
    package func sessionKey(clientPublicValue: SRPNumber) throws(SRPError) -> [UInt8] {
        let scrambler = try SRP.scrambler(clientPublicValue: clientPublicValue, serverPublicValue: publicValue)
        do {
            let secret = try SRP.serverSecret(
                clientPublicValue: clientPublicValue, verifier: verifier, b: b, scrambler: scrambler)
            return SRP.sessionKey(secret: secret, scrambler: scrambler)
        } catch {
            throw .calculation(error)
        }
    }

    /// Whether `signature` proves that the client has `sessionKey`.
    package static func accepts(
        _ signature: [UInt8], identity: SRPIdentity, sessionKey: [UInt8], secretBlock: [UInt8], timestamp: String
    ) -> Bool {
        constantTimeEquals(
            signature, identity.signature(key: sessionKey, secretBlock: secretBlock, timestamp: timestamp))
    }
}
