package import Cryptography

/// One AES-256 key that seals what clients keep for the gateway.
package struct SealingKey: Sendable {
    /// Sixteen lower-case hex digits that name the key in everything it seals.
    ///
    /// Derived from the key, so that nobody has to number keys. It is a message authentication code, which says
    /// nothing about the key itself.
    package let id: String

    let key: AESGCMKey

    /// - Parameter secret: exactly 32 random bytes.
    /// - Throws: `CryptographyError` if the secret has another length.
    package init(_ secret: Secret) throws(CryptographyError) {
        key = try AESGCMKey(secret)
        let code = HMACSHA256.authenticationCode(for: Array("gatehouse sealing key id".utf8), key: secret.expose())
        id = code.prefix(8).map(hexadecimal).joined()
    }
}

/// The keys that open what the gateway has sealed. The first one seals, all of them open: a new key is put in front,
/// the old one is removed once all it sealed has expired.
package struct SealingKeyRing: Sendable {
    private let first: SealingKey
    private let others: [SealingKey]

    package init(sealing first: SealingKey, opening others: [SealingKey] = []) {
        self.first = first
        self.others = others
    }

    var sealingKey: SealingKey { first }

    func key(named id: some StringProtocol) -> SealingKey? {
        first.id == id ? first : others.first { $0.id == id }
    }
}

private func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
}
