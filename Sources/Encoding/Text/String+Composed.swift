// The library's own tables of Unicode: the alternative is a copy of them. Every use is in this file.
@_spi(_Unicode) internal import Swift

extension String {
    /// The text in normalization form C (Unicode Standard Annex 15): one spelling for letters that can be written with
    /// or without separate accents.
    ///
    /// Text that is ASCII, or longer than any name, is returned as it is.
    package var composed: String {
        guard utf8.count <= 512, utf8.contains(where: { $0 >= 0x80 }) else { return self }
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
