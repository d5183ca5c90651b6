/// A file or directory that the settings name for the gateway to write to.
package struct WrittenPath: Sendable {
    package enum Kind: Sendable {
        case directory
        case file
    }

    package let kind: Kind
    package let path: String
    package let place: SettingsPlace
}

extension SettingsMapping {
    /// Records that the gateway writes to `path`, which comes from the key `name` or its default.
    package func note(_ kind: WrittenPath.Kind, _ path: String, of name: String) {
        node.context.note(WrittenPath(kind: kind, path: path, place: placeOrSection(of: name)))
    }

    /// Records the place of the key `name`, for errors that show only when the value is used.
    package func notePlace(of name: String) {
        node.context.note(placeOrSection(of: name))
    }

    /// The place of this key, or of the section that could have it.
    private func placeOrSection(of name: String) -> SettingsPlace {
        place(of: name) ?? node.place.key(name, line: node.place.line, column: nil)
    }
}
