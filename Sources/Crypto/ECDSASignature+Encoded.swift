extension ECDSASignature {
    /// r and s, each as long as the curve's coordinates, from the DER of SEQUENCE { INTEGER r, INTEGER s } (RFC 3279,
    /// 2.2.3).
    ///
    /// Nil for anything that is not the unique DER encoding of two numbers in 1..<n (X.690, 10): the result is returned
    /// as the gateway's own signature, so nothing is guessed.
    static func raw(encoded: ArraySlice<UInt8>, curve: EllipticCurve) -> [UInt8]? {
        var rest = encoded
        // Both numbers of a curve up to P-384 take at most 102 bytes: every length is one byte.
        guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80, Int(length) == rest.count,
            let r = number(&rest, curve), let s = number(&rest, curve), rest.isEmpty
        else { return nil }
        let raw = r + s
        // Rejects numbers that are zero or at least n, and encodings that are not canonical.
        guard let signature = ECDSASignature(raw: raw, curve: curve), signature.encoded.elementsEqual(encoded) else {
            return nil
        }
        return raw
    }

    /// The next INTEGER, with leading zeros up to the length of a coordinate.
    private static func number(_ rest: inout ArraySlice<UInt8>, _ curve: EllipticCurve) -> [UInt8]? {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), length > 0, Int(length) <= rest.count else {
            return nil
        }
        let digits = rest.prefix(Int(length)).drop { $0 == 0 }
        rest = rest.dropFirst(Int(length))
        guard digits.count <= curve.byteCount else { return nil }
        return [UInt8](repeating: 0, count: curve.byteCount - digits.count) + digits
    }
}
