extension String {
    /// The text for display, with U+FFFD in place of each character that could move the cursor or change the direction
    /// of text.
    package var visible: String {
        var shown = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
                shown.append("\u{FFFD}")
            default: shown.append(scalar)
            }
        }
        return String(shown)
    }
}
