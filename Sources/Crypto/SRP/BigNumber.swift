internal import COpenSSL

/// One OpenSSL number, cleared on release. It never leaves the calculation that makes it.
final class BigNumber {
    let handle: OpaquePointer

    init() throws(CryptographyError) {
        guard let handle = BN_new() else { throw failure("a number") }
        self.handle = handle
    }

    convenience init(_ number: SRPNumber) throws(CryptographyError) {
        try self.init()
        guard BN_bin2bn(number.bytes, Int32(number.bytes.count), handle) != nil else { throw failure("a number") }
    }

    deinit {
        BN_clear_free(handle)
    }

    var number: SRPNumber {
        var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(handle)) + 7) / 8)
        BN_bn2bin(handle, &bytes)
        return SRPNumber(bytes)
    }
}

/// Arithmetic modulo SRP's prime with OpenSSL's numbers.
///
/// Exponents are secret in every use, so powers take a time that depends only on the exponent's length.
struct ModularArithmetic {
    let modulus: BigNumber
    private let context: Context

    /// OpenSSL's scratch space.
    private final class Context {
        let handle: OpaquePointer

        init() throws(CryptographyError) {
            guard let handle = BN_CTX_secure_new() else { throw failure("scratch space") }
            self.handle = handle
        }

        deinit { BN_CTX_free(handle) }
    }

    init(modulus: SRPNumber) throws(CryptographyError) {
        self.modulus = try BigNumber(modulus)
        context = try Context()
    }

    /// `base ^ exponent` modulo the prime.
    func power(_ base: BigNumber, _ exponent: BigNumber) throws(CryptographyError) -> BigNumber {
        let reduced = try reduce(base)
        let result = try BigNumber()
        BN_set_flags(exponent.handle, BN_FLG_CONSTTIME)
        guard
            BN_mod_exp_mont_consttime(
                result.handle, reduced.handle, exponent.handle, modulus.handle, context.handle, nil) == 1
        else { throw failure("a power") }
        return result
    }

    func reduce(_ value: BigNumber) throws(CryptographyError) -> BigNumber {
        let result = try BigNumber()
        guard BN_nnmod(result.handle, value.handle, modulus.handle, context.handle) == 1 else {
            throw failure("a remainder")
        }
        return result
    }

    func product(_ a: BigNumber, _ b: BigNumber) throws(CryptographyError) -> BigNumber {
        let result = try BigNumber()
        guard BN_mod_mul(result.handle, a.handle, b.handle, modulus.handle, context.handle) == 1 else {
            throw failure("a product")
        }
        return result
    }

    func sum(_ a: BigNumber, _ b: BigNumber) throws(CryptographyError) -> BigNumber {
        let result = try BigNumber()
        guard BN_mod_add(result.handle, a.handle, b.handle, modulus.handle, context.handle) == 1 else {
            throw failure("a sum")
        }
        return result
    }

    func difference(_ a: BigNumber, _ b: BigNumber) throws(CryptographyError) -> BigNumber {
        let result = try BigNumber()
        guard BN_mod_sub(result.handle, a.handle, b.handle, modulus.handle, context.handle) == 1 else {
            throw failure("a difference")
        }
        return result
    }

    /// `a + b · c` as whole numbers, not modulo the prime: an exponent counts modulo the group's order.
    func exponent(_ a: BigNumber, plus b: BigNumber, times c: BigNumber) throws(CryptographyError) -> BigNumber {
        let product = try BigNumber()
        let result = try BigNumber()
        guard BN_mul(product.handle, b.handle, c.handle, context.handle) == 1,
            BN_add(result.handle, product.handle, a.handle) == 1
        else { throw failure("an exponent") }
        return result
    }
}
