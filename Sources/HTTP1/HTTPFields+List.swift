package import HTTPTypes

extension HTTPFields {
    /// Creates fields from a list in one step.
    ///
    /// Methods that append are unspecialized generic code of another module, and show in profiles. Setting the fields
    /// of a name is inlined. It appends the given fields, whatever their names are, if no earlier field has that name.
    package init(_ list: [HTTPField]) {
        self.init()
        guard let first = list.first else { return }
        reserveCapacity(list.count)
        self[fields: first.name] = list
    }
}

extension HTTPField {
    /// The length in bytes from which checking a string again costs more than making it with generic code.
    private static let longValue = 128

    /// Creates a field from a valid value without surrounding whitespace (RFC 9110 §5.5).
    ///
    /// The initializer for bytes makes its string with unspecialized generic code, which shows in profiles. So a short
    /// value is passed as a string, if it is ASCII: other strings would be repaired.
    package init(name: Name, validValue value: UnsafeRawBufferPointer) {
        if value.count < Self.longValue, unsafe Grammar.isASCII(value) {
            unsafe self.init(name: name, value: String(decoding: value, as: UTF8.self))
        } else {
            unsafe self.init(name: name, lenientValue: value)
        }
    }
}
