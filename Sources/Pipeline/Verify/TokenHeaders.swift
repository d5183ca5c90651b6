internal import Encoding

/// The headers of tokens that were recently verified on one event loop. All tokens that a key signs have the same
/// header, byte for byte, so it is not parsed again.
///
/// A decoded header depends on its bytes alone, so a cached one adds nothing to the token's own statements: the key is
/// looked up in the issuer's set each time. Not `Sendable` and without locks.
package final class TokenHeaders {
    /// Keys are few, and only tokens that they sign add a header here.
    private static let maximumCount = 8

    private var known: [(segment: [UInt8], header: TokenHeader)] = []
    private var oldest = 0

    package init() {}

    /// The decoded header with this Base64url text; nil if it is not cached.
    func header(_ segment: borrowing Span<UInt8>) -> TokenHeader? {
        for (known, header) in known {
            let known = known.span
            if known.hasSameBytes(as: segment) { return header }
        }
        return nil
    }

    /// Caches the header of a token whose signature is valid.
    func remember(_ header: TokenHeader, _ segment: borrowing Span<UInt8>) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(segment.count)
        for index in segment.indices { bytes.append(segment[index]) }
        guard known.count == Self.maximumCount else { return known.append((bytes, header)) }
        known[oldest] = (bytes, header)
        oldest = (oldest + 1) % Self.maximumCount
    }
}
