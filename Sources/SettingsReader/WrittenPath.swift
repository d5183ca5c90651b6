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
    /// Notes that the gateway writes to `path`, which the key `name` or its default names.
    package func note(_ kind: WrittenPath.Kind, _ path: String, of name: String) {
        node.context.note(WrittenPath(kind: kind, path: path, place: placeOrSection(of: name)))
    }

    /// Has the settings know where the key `name` is, for faults that show when it is to be used.
    package func notePlace(of name: String) {
        node.context.note(placeOrSection(of: name))
    }

    /// Where the file has this key, or the section that could have it.
    private func placeOrSection(of name: String) -> SettingsPlace {
        place(of: name) ?? node.place.key(name, line: node.place.line, column: nil)
    }
}
