/// The data that an authenticator signs (WebAuthn Level 3, 6.1).
struct AuthenticatorData: Sendable {
    /// A new credential (6.5.1).
    struct Credential: Sendable {
        var id: [UInt8]
        /// The COSE_Key in its original encoding.
        var publicKey: [UInt8]
    }

    var relyingPartyHash: [UInt8]
    var isUserPresent: Bool
    var isUserVerified: Bool
    var signatureCount: UInt32
    /// Nil unless this is a registration.
    var credential: Credential?

    /// - Throws: ``InvalidCBOR`` unless all the bytes are valid authenticator data.
    init(_ bytes: [UInt8]) throws(InvalidCBOR) {
        guard bytes.count >= 37 else { throw InvalidCBOR() }
        relyingPartyHash = Array(bytes.prefix(32))
        let flags = bytes[32]
        isUserPresent = flags & 0x01 != 0
        isUserVerified = flags & 0x04 != 0
        signatureCount = bytes[33..<37].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var rest = bytes[37...]
        if flags & 0x40 != 0 { credential = try Self.credential(&rest) }
        if flags & 0x80 != 0 {
            var reader = CBORReader(rest)
            guard try reader.read().mapValue != nil else { throw InvalidCBOR() }
            rest = reader.rest
        }
        guard rest.isEmpty else { throw InvalidCBOR() }
    }

    /// Parses AAGUID, length and id of the credential, and its key.
    private static func credential(_ rest: inout ArraySlice<UInt8>) throws(InvalidCBOR) -> Credential {
        guard rest.count >= 18 else { throw InvalidCBOR() }
        let head = Array(rest.prefix(18))
        rest = rest.dropFirst(18)
        let length = Int(head[16]) << 8 | Int(head[17])
        // Longer ids are refused (7.1, step 25).
        guard (1...1023).contains(length), rest.count > length else { throw InvalidCBOR() }
        let id = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        var reader = CBORReader(rest)
        _ = try reader.read()
        let key = Array(rest.prefix(rest.count - reader.rest.count))
        rest = reader.rest
        return Credential(id: id, publicKey: key)
    }
}
