/// A signature in the format of JWS: r and s, each as long as the curve's coordinates (RFC 7518, 3.4).
struct ECDSASignature {
    /// The signature in the format of OpenSSL: DER of SEQUENCE { INTEGER r, INTEGER s } (RFC 3279, 2.2.3).
    let encoded: [UInt8]

    /// Nil for any other length, such as that of a DER signature, and unless r and s are in 1..<n.
    init?(raw: [UInt8], curve: EllipticCurve) {
        guard raw.count == 2 * curve.byteCount else { return nil }
        let (r, s) = (raw[..<curve.byteCount], raw[curve.byteCount...])
        for number in [r, s] {
            guard number.contains(where: { $0 != 0 }), number.lexicographicallyPrecedes(curve.order) else { return nil }
        }
        let integers = Self.integer(r) + Self.integer(s)
        // Those of P-521 exceed 127 bytes, so that the length takes a second byte (X.690, 8.1.3); none exceeds 255.
        let long: [UInt8] = integers.count > 127 ? [0x81] : []
        encoded = [0x30] + long + [UInt8(integers.count)] + integers
    }

    /// A positive INTEGER, with a leading zero only if the sign requires it (X.690, 8.3.2).
    private static func integer(_ number: ArraySlice<UInt8>) -> [UInt8] {
        let digits = number.drop { $0 == 0 }
        let needsZero = (digits.first ?? 0) >= 0x80
        return [0x02, UInt8(digits.count + (needsZero ? 1 : 0))] + (needsZero ? [0] : []) + digits
    }
}
