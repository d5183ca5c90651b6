internal import COpenSSL

/// The check whether 32 bytes are a public key (RFC 8032, 5.1.3). OpenSSL accepts any bytes and detects errors only
/// when it verifies.
enum Ed25519Point {
    static let byteCount = 32

    /// Keys for which anybody can sign: the points of order 1, 2, 4 and 8, by their y, little endian.
    private static let smallOrder: [[UInt8]] = [
        [0x01] + [UInt8](repeating: 0, count: 31),
        [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
        [UInt8](repeating: 0, count: 32),
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
            0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
            0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
        ],
    ]

    static func requireAcceptable(_ bytes: [UInt8]) throws(CryptographyError) {
        guard bytes.count == byteCount else { throw .unacceptableKey("Ed25519 key is not 32 bytes") }
        // The top bit is the sign of x.
        let y = Array(bytes.dropLast()) + [bytes[byteCount - 1] & 0x7f]
        guard !smallOrder.contains(y) else { throw .unacceptableKey("Ed25519 key is of small order") }
        guard try isOnCurve(y: y) else { throw .unacceptableKey("Ed25519 key is not on the curve") }
    }

    /// Whether an x exists: x² = (y² − 1) / (d·y² + 1), and a quotient is a square exactly if the product is one. The
    /// product is raised to (p − 1) / 2 (Euler's criterion).
    private static func isOnCurve(y little: [UInt8]) throws(CryptographyError) -> Bool {
        let context = BN_CTX_new()
        BN_CTX_start(context)
        defer {
            BN_CTX_end(context)
            BN_CTX_free(context)
            clearErrors()
        }
        // p = 2^255 − 19; d = −121665 / 121666 (RFC 8032, 5.1).
        guard let p = BN_CTX_get(context), let y = BN_CTX_get(context), let square = BN_CTX_get(context),
            let d = BN_CTX_get(context), let other = BN_CTX_get(context), let power = BN_CTX_get(context),
            BN_set_bit(p, 255) == 1, BN_sub_word(p, 19) == 1, BN_lebin2bn(little, Int32(little.count), y) != nil,
            BN_set_word(d, 121_666) == 1, BN_mod_inverse(d, d, p, context) != nil, BN_mul_word(d, 121_665) == 1,
            BN_mod_sqr(square, y, p, context) == 1, BN_mod_mul(other, d, square, p, context) == 1,
            // v = 1 − (121665 / 121666)·y², u = y² − 1.
            BN_sub(other, p, other) == 1, BN_add_word(other, 1) == 1,
            BN_add(square, square, p) == 1, BN_sub_word(square, 1) == 1,
            BN_mod_mul(square, square, other, p, context) == 1,
            BN_rshift1(power, p) == 1, BN_mod_exp(square, square, power, p, context) == 1
        else { throw failure("Ed25519 key check") }
        return BN_cmp(y, p) < 0 && gatehouse_is_zero_or_one(square) == 1
    }
}
