package import HTTPTypes

/// The last `Authorization` field of a connection, which the next request usually repeats exactly.
///
/// A token of a kilobyte is then compared instead of being validated, copied and allocated: this saves an eighth of a
/// small request's cost outside the kernel. The field is stored from the connection's second one on and while requests
/// follow one another, so that connections that are idle or used once have no extra cost.
package struct RepeatedField: Sendable {
    /// The longest value that is stored, in bytes.
    private static let maximumLength = 4096

    /// The stored field; nil if there is none.
    package private(set) var field: HTTPField?
    /// Whether a field is stored. Reading this copies nothing.
    private(set) var keepsField = false
    private var hasComeBefore = false

    package init() {}

    /// Whether `value` is the value of the stored field.
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

    /// Compares in constant time, since the stored value is a secret, and a proxy in front may share its connection
    /// among clients.
    package static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        var differences: UInt64 = 0
        var index = 0
        while index &+ 32 <= one.count {
            unsafe differences |=
                (word(one, index) ^ word(other, index)) | (word(one, index &+ 8) ^ word(other, index &+ 8))
                | (word(one, index &+ 16) ^ word(other, index &+ 16))
                | (word(one, index &+ 24) ^ word(other, index &+ 24))
            index &+= 32
        }
        while index < one.count {
            unsafe differences |= UInt64(one[index] ^ other[index])
            index &+= 1
        }
        return differences == 0
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> UInt64 {
        unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
    }
}
