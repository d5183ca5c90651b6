package import Cryptography
package import Encoding

/// Verifies the signature of a JWS and nothing else: its payload may be any bytes (RFC 7515, 5.2).
package struct SignatureCheck: Sendable {
    /// The contents of a JWS whose signature is valid.
    package struct Signed: Sendable {
        package let payload: [UInt8]
        /// Empty if the JWS names no key.
        package let keyID: String
        package let algorithm: SignatureAlgorithm
    }

    private let keySet: KeySet
    private let algorithms: [SignatureAlgorithm]

    package init(keySet: KeySet, algorithms: [SignatureAlgorithm]) {
        self.keySet = keySet
        self.algorithms = algorithms
    }

    /// Checks form, header and key as strictly as ``TokenVerifier``; the caller checks `typ`.
    package func verify(_ jws: [UInt8]) throws(RejectReason) -> Signed {
        let token = try CompactToken(jws.span)
        let (header, _) = try token.checkedHeader()
        guard let key = try token.key(of: header, in: keySet, among: algorithms, token: jws.span) else {
            throw header.keyID.isEmpty ? .keyIDInvalid : .unknownKey
        }
        return Signed(payload: token.payload, keyID: header.keyID, algorithm: key.algorithm)
    }
}

/// A token that is only decoded. Anyone can have written its contents.
package struct UnverifiedToken: Sendable {
    package let header: JSON
    /// Nil if the payload is not JSON.
    package let payload: JSON?

    /// Nil unless the token is a compact JWS of two or three segments with a JSON header (RFC 7515, 3.1). The third
    /// segment may be missing, and is not read.
    package init?(_ token: [UInt8]) {
        let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (2...3).contains(segments.count), let header = Base64URL.decode(segments[0]),
            let object = try? JSON.parse(header), let payload = Base64URL.decode(segments[1])
        else { return nil }
        self.header = object
        self.payload = try? JSON.parse(payload)
    }
}
