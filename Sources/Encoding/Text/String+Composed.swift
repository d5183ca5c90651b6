// The standard library's own Unicode tables: the alternative is a copy of them. Only this file uses them.
@_spi(_Unicode) internal import Swift

extension String {
    /// The text in normalization form C (Unicode Standard Annex 15): one spelling for letters that can be written with
    /// or without separate accents.
    ///
    /// ASCII text, and text longer than any name, is returned unchanged.
    package var composed: String {
        guard utf8.count <= 512, utf8.contains(where: { $0 >= 0x80 }) else { return self }
        var scalars = String.UnicodeScalarView()
        for scalar in _nfc { scalars.append(scalar) }
        return String(scalars)
    }
}
