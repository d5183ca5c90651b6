package import HTTPTypes

/// The `Authorization` field that came last on the same connection, which the next request mostly repeats byte for
/// byte.
///
/// A token of a kilobyte is then compared instead of being checked byte by byte, copied and given memory of its own: an
/// eighth of what a small request costs outside of the kernel. It is kept from the second one on and while requests
/// follow one another, so that a connection that is idle, or is used once, costs no more for it.
package struct RepeatedField: Sendable {
    /// The bytes of the longest value that is kept.
    private static let maximumLength = 4096

    /// Nil where none is kept.
    package private(set) var field: HTTPField?
    /// Whether one is. To ask for it copies nothing.
    private(set) var keepsField = false
    private var hasComeBefore = false

    package init() {}

    /// Whether this is its value.
    package func holds(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let field else { return false }
        return unsafe field.withUnsafeBytesOfValue { unsafe Self.areEqual(value, UnsafeRawBufferPointer($0)) }
    }

    package mutating func keep(_ field: HTTPField, length: Int) {
        keepsField = hasComeBefore && length <= Self.maximumLength
        self.field = keepsField ? field : nil
        hasComeBefore = true
    }

    package mutating func forget() {
        self = RepeatedField()
    }

    /// Takes the same time wherever the two differ, since what is kept is a secret, and a proxy in front may share its
    /// connection among clients.
    package static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        var differences = SIMD16<UInt8>(repeating: 0)
        var index = 0
        while index &+ 16 <= one.count {
            unsafe differences |=
                one.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
                ^ other.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            index &+= 16
        }
        var rest: UInt8 = 0
        while index < one.count {
            unsafe rest |= one[index] ^ other[index]
            index &+= 1
        }
        return rest == 0 && differences == SIMD16(repeating: 0)
    }
}
