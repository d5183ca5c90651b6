internal import Cryptography
internal import Encoding

/// A JWS in compact serialization (RFC 7515, 3.1), split and decoded but not verified.
struct CompactToken {
    private enum Header {
        case known(TokenHeader)
        case unread(JSONObject)
    }

    /// The length of the encoded header, in bytes.
    let headerCount: Int
    /// The length of the signed part, in bytes: the encoded header and payload, with the dot between.
    let signedCount: Int
    private let header: Header
    /// The payload: any bytes, as far as the signature is concerned.
    let payload: [UInt8]
    let signature: [UInt8]

    /// - Parameter headers: the cached headers.
    /// - Throws: ``RejectReason`` for anything but three strictly encoded segments, the first of them a JSON object.
    init(_ token: borrowing Span<UInt8>, headers: TokenHeaders? = nil) throws(RejectReason) {
        // A third dot would be in the last segment, whose alphabet has none.
        let dot = UInt8(ascii: ".")
        guard let first = token.firstIndex(of: dot), let last = token.firstIndex(of: dot, from: first + 1) else {
            throw .malformedToken
        }
        let known = headers?.header(token.extracting(first: first))
        guard let header = known == nil ? Base64URL.decode(token.extracting(first: first)) : [],
            let payload = Base64URL.decode(token.extracting((first + 1)..<last)),
            let signature = Base64URL.decode(token.extracting((last + 1)...))
        else { throw .malformedToken }
        // An "unsecured JWS" has an empty third segment (RFC 7515, A.5).
        guard !signature.isEmpty else { throw .badSignature }
        self.header =
            if let known { .known(known) } else { .unread(try Self.object(header, else: .malformedHeader)) }
        self.payload = payload
        self.signature = signature
        self.headerCount = first
        self.signedCount = last
    }

    /// The header, and whether it was cached.
    func checkedHeader() throws(RejectReason) -> (TokenHeader, isKnown: Bool) {
        switch header {
        case .known(let header): (header, true)
        case .unread(let members): (try TokenHeader(members), false)
        }
    }

    /// The claims of a JWT (RFC 7519, 7.2 step 10).
    func claims() throws(RejectReason) -> JSONObject {
        try Self.object(payload, else: .malformedPayload)
    }

    /// The key of the set that made the signature: the key with its `kid` that is for its `alg`, whatever the others
    /// are (RFC 8725, 3.1). Nil if the set has no key with this `kid`.
    ///
    /// - Parameters:
    ///   - token: the whole text of this token.
    ///   - signatures: the signatures that are known to be valid; nil if none are shared.
    func key(
        of header: TokenHeader, in keySet: KeySet, among algorithms: [SignatureAlgorithm],
        token: borrowing Span<UInt8>, signatures: LoopSignatures? = nil
    ) throws(RejectReason) -> VerificationKey? {
        guard let algorithm = header.algorithm(among: algorithms) else { throw .algorithmNotAllowed }
        guard let keys = keySet.keys(id: header.keyID) else { return nil }
        guard let key = keys.first(where: { $0.algorithm == algorithm }) else { throw .algorithmNotAllowed }
        guard isSigned(token, by: key, algorithm, signatures) else { throw .badSignature }
        return key
    }

    private func isSigned(
        _ token: borrowing Span<UInt8>, by key: VerificationKey, _ algorithm: SignatureAlgorithm,
        _ signatures: LoopSignatures?
    ) -> Bool {
        guard let signatures, let digest = signatures.digest(of: token, key: key) else {
            return key.verify(signature: signature, of: token.extracting(first: signedCount), algorithm: algorithm)
        }
        if signatures.isKnown(digest) { return true }
        let signed = token.extracting(first: signedCount)
        guard key.verify(signature: signature, of: signed, algorithm: algorithm) else { return false }
        signatures.remember(digest)
        return true
    }

    private static func object(_ bytes: [UInt8], else reason: RejectReason) throws(RejectReason) -> JSONObject {
        guard let object = try? JSON.parse(bytes).objectValue else { throw reason }
        return object
    }
}

/// The header parameters that select a key, after every check that needs no issuer (RFC 7515, 4.1; RFC 8725, 3).
struct TokenHeader {
    static let maximumKeyIDBytes = 256

    /// Empty if there is none.
    let keyID: String
    /// `typ` in normal form; nil if there is none.
    let type: String?
    let algorithmName: String

    /// - Throws: ``RejectReason`` for a header that is incomplete or requires something that this verifier does not
    ///   support.
    init(_ header: JSONObject) throws(RejectReason) {
        guard header["crit"] == nil else { throw .criticalHeader }
        guard header["b64"] == nil else { throw .unencodedPayload }
        // Keys come from configured issuers only (RFC 8725, 3.10).
        for name in ["jku", "jwk", "x5u", "x5c"] where header[name] != nil { throw .keyInHeader }
        self.type = try Self.type(header["typ"])
        guard let algorithmName = header["alg"]?.stringValue else { throw .algorithmNotAllowed }
        self.algorithmName = algorithmName
        self.keyID = try Self.keyID(header["kid"])
    }

    /// The algorithm if it is one of these; the name is compared byte for byte (RFC 7515, 4.1.1).
    func algorithm(among allowed: [SignatureAlgorithm]) -> SignatureAlgorithm? {
        allowed.first { $0.rawValue.hasSameBytes(as: algorithmName) }
    }

    private static func type(_ member: JSON?) throws(RejectReason) -> String? {
        guard let member else { return nil }
        guard let name = member.stringValue, name.utf8.count <= TokenTypes.maximumBytes else { throw .typeNotAllowed }
        return TokenTypes.normal(name)
    }

    private static func keyID(_ member: JSON?) throws(RejectReason) -> String {
        guard let member else { return "" }
        guard let keyID = member.stringValue, (1...maximumKeyIDBytes).contains(keyID.utf8.count) else {
            throw .keyIDInvalid
        }
        return keyID
    }
}
