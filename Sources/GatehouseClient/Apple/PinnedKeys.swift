#if canImport(Security)
    public import Foundation
    import Security
#else
    import Foundation
#endif

/// Accepts the gateway only with a certificate chain that has one of these keys (RFC 7469, section 2.6).
///
/// A pin is the SHA-256 of a key's SubjectPublicKeyInfo in Base64, as `openssl pkey -pubin -outform der` writes it.
/// The system's own checks of the certificate stay in force.
public struct PinnedKeys: Sendable {
    /// Why pins were refused.
    public enum PinError: Error, Sendable, Hashable {
        /// The text is not the Base64 of 32 bytes.
        case malformed(String)
        /// The backup pin is the same as the pin.
        case noBackup
    }

    private let pins: Set<Data>

    /// - Parameters:
    ///   - backup: of a key that the gateway does not use yet. Without one, the loss of the key would lock out all apps
    ///     until their next update.
    /// - Throws: ``PinError``.
    public init(_ pin: String, backup: String, others: [String] = []) throws(PinError) {
        var pins: Set<Data> = []
        for text in [pin, backup] + others {
            guard let data = Data(base64Encoded: text), data.count == 32 else { throw .malformed(text) }
            pins.insert(data)
        }
        guard Data(base64Encoded: pin) != Data(base64Encoded: backup) else { throw .noBackup }
        self.pins = pins
    }

    /// Whether one of the keys is pinned.
    ///
    /// - Parameter keys: the SubjectPublicKeyInfo, in DER, of the verified chain's certificates.
    func match(_ keys: [Data]) -> Bool { keys.contains { pins.contains(Data(SHA256.hash(Array($0)))) } }
}

/// A public key as certificates have it (RFC 5280, section 4.1.2.7).
enum PublicKeyInfo {
    enum Kind { case rsa, elliptic }

    /// - Parameter key: a PKCS #1 RSAPublicKey (RFC 8017, appendix A.1.1), or an uncompressed point (RFC 5480, section
    ///   2.2).
    /// - Returns: nil for a curve other than P-256, P-384 and P-521, and for keys of 64 KiB.
    static func der(_ kind: Kind, _ key: Data) -> Data? {
        guard key.count < 65_000 else { return nil }
        let curves: [Int: [UInt8]] = [
            65: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07], 97: [0x2B, 0x81, 0x04, 0x00, 0x22],
            133: [0x2B, 0x81, 0x04, 0x00, 0x23],
        ]
        var algorithm = identifier([0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]) + [0x05, 0x00]
        if kind == .elliptic {
            guard let curve = curves[key.count] else { return nil }
            algorithm = identifier([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]) + identifier(curve)
        }
        return Data(element(0x30, element(0x30, algorithm) + element(0x03, [0] + key)))
    }

    private static func identifier(_ bytes: [UInt8]) -> [UInt8] { element(0x06, bytes) }

    /// An element in DER (X.690, section 10.1) of less than 64 KiB.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let (high, low) = (UInt8(content.count >> 8), UInt8(content.count & 0xFF))
        if high > 0 { return [tag, 0x82, high, low] + content }
        return [tag] + (low < 0x80 ? [low] : [0x81, low]) + content
    }
}

#if canImport(Security)
    extension PinnedKeys: ServerTrust {
        public func accepts(_ challenge: URLAuthenticationChallenge) -> Bool {
            let space = challenge.protectionSpace
            // Other challenges are not about the server's certificate.
            guard space.authenticationMethod == NSURLAuthenticationMethodServerTrust else { return true }
            guard let trust = space.serverTrust else { return false }
            // The chain that is copied then is the verified one, without certificates that the server merely sent.
            guard SecTrustEvaluateWithError(trust, nil),
                let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
            else { return false }
            return match(chain.compactMap(Self.publicKeyInfo))
        }

        private static func publicKeyInfo(_ certificate: SecCertificate) -> Data? {
            guard let key = SecCertificateCopyKey(certificate),
                let data = SecKeyCopyExternalRepresentation(key, nil) as Data?,
                let type = (SecKeyCopyAttributes(key) as? [String: Any])?[kSecAttrKeyType as String] as? String
            else { return nil }
            if type == kSecAttrKeyTypeRSA as String { return PublicKeyInfo.der(.rsa, data) }
            return type == kSecAttrKeyTypeECSECPrimeRandom as String ? PublicKeyInfo.der(.elliptic, data) : nil
        }
    }
#endif
