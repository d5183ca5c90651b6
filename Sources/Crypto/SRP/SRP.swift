internal import Encoding

/// The Secure Remote Password protocol (SRP-6a, RFC 2945 and RFC 5054) as Amazon Cognito uses it: the 3072-bit group of
/// RFC 3526, 4 with the generator 2, SHA-256, and numbers hashed in their minimal two's complement form.
///
/// These are the formulas alone, for both sides; ``SRPClient`` and ``SRPServer`` run the exchange.
package enum SRP {
    /// `N`.
    static let prime = SRPNumber(
        Hexadecimal.decode(
            """
            FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3\
            CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5\
            AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356\
            208552BB9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3BE39E772C180E86039B2783A2EC07A28F\
            B5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA051015728E5A8AAAC42DAD33170D04507A33A85521AB\
            DF1CBA64ECFB850458DBEF0A8AEA71575D060C7DB3970F85A6E1E4C7ABF5AE8CDB0933D71E8C94E04A25619DCEE3D2261AD2EE6B\
            F12FFA06D98A0864D87602733EC86A64521F2B18177B200CBBE117577A615D6C770988C0BAD946E208E24FA074E5AB3143DB5BFC\
            E0FD108E4B82D120A93AD2CAFFFFFFFFFFFFFFFF
            """) ?? [])
    /// `g`.
    static let generator = SRPNumber([2])

    /// `k = H(pad N ‖ pad g)`.
    static let multiplier = SRPNumber(SHA256.hash(prime.padded + generator.padded))

    /// `x = H(pad salt ‖ H(identity ‖ ":" ‖ password))`.
    package static func privateKey(salt: SRPNumber, identity: SRPIdentity, password: Secret) -> SRPNumber {
        let credentials = SHA256.hash(identity.bytes + [UInt8(ascii: ":")] + password.expose())
        return SRPNumber(SHA256.hash(salt.padded + credentials))
    }

    /// `v = g^x`, which the server stores instead of the password.
    package static func verifier(_ privateKey: SRPNumber) throws(CryptographyError) -> SRPNumber {
        try clientPublicValue(privateKey)
    }

    /// `A = g^a`.
    package static func clientPublicValue(_ a: SRPNumber) throws(CryptographyError) -> SRPNumber {
        let group = try ModularArithmetic(modulus: prime)
        return try group.power(BigNumber(generator), BigNumber(a)).number
    }

    /// `B = k·v + g^b`.
    package static func serverPublicValue(_ b: SRPNumber, verifier: SRPNumber) throws(CryptographyError) -> SRPNumber {
        let group = try ModularArithmetic(modulus: prime)
        let masked = try group.product(BigNumber(multiplier), BigNumber(verifier))
        return try group.sum(masked, group.power(BigNumber(generator), BigNumber(b))).number
    }

    /// `u = H(pad A ‖ pad B)`.
    ///
    /// - Throws: ``SRPError`` if the other side's value or the result would make the secret independent of the password
    ///   (RFC 5054, 2.5.4).
    static func scrambler(
        clientPublicValue a: SRPNumber, serverPublicValue b: SRPNumber
    ) throws(SRPError) -> SRPNumber {
        guard try !isMultipleOfPrime(a), try !isMultipleOfPrime(b) else { throw .zeroPublicValue }
        let scrambler = SRPNumber(SHA256.hash(a.padded + b.padded))
        guard !scrambler.isZero else { throw .zeroScrambler }
        return scrambler
    }

    /// The client's `S = (B − k·g^x)^(a + u·x)`.
    package static func clientSecret(
        serverPublicValue: SRPNumber, a: SRPNumber, privateKey: SRPNumber, scrambler: SRPNumber
    ) throws(CryptographyError) -> SRPNumber {
        let group = try ModularArithmetic(modulus: prime)
        let x = try BigNumber(privateKey)
        let masked = try group.product(BigNumber(multiplier), group.power(BigNumber(generator), x))
        let base = try group.difference(BigNumber(serverPublicValue), masked)
        return try group.power(base, group.exponent(BigNumber(a), plus: BigNumber(scrambler), times: x)).number
    }

    /// The server's `S = (A·v^u)^b`.
    static func serverSecret(
        clientPublicValue: SRPNumber, verifier: SRPNumber, b: SRPNumber, scrambler: SRPNumber
    ) throws(CryptographyError) -> SRPNumber {
        let group = try ModularArithmetic(modulus: prime)
        let power = try group.power(BigNumber(verifier), BigNumber(scrambler))
        return try group.power(group.product(BigNumber(clientPublicValue), power), BigNumber(b)).number
    }

    /// `K = HKDF-SHA-256(S, salt: u, info: "Caldera Derived Key")`, 16 bytes.
    package static func sessionKey(secret: SRPNumber, scrambler: SRPNumber) -> [UInt8] {
        HKDFSHA256.derive(
            from: secret.padded, salt: scrambler.padded, info: Array("Caldera Derived Key".utf8), byteCount: 16)
    }

    private static func isMultipleOfPrime(_ number: SRPNumber) throws(SRPError) -> Bool {
        do {
            return try ModularArithmetic(modulus: prime).reduce(BigNumber(number)).number.isZero
        } catch {
            throw .calculation(error)
        }
    }
}

/// The reason that an SRP exchange was aborted.
package enum SRPError: Error, Equatable {
    /// `A` or `B` is a multiple of the prime.
    case zeroPublicValue
    /// `u` is zero.
    case zeroScrambler
    case calculation(CryptographyError)
}
