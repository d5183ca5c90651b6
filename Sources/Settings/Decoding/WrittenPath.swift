/// What the settings name for the gateway to write to.
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
    func note(_ kind: WrittenPath.Kind, _ path: String, of name: String) {
        let key = node.place.key(name, line: node.place.line, column: nil)
        node.context.note(WrittenPath(kind: kind, path: path, place: place(of: name) ?? key))
    }
}

extension GatewaySettings {
    /// A fault of what the key at this path names, with its place in the file.
    package func fault(of keyPath: String, _ message: String) -> SettingsFaults {
        let place = writtenPaths.first { $0.place.keyPath == keyPath }?.place
        return SettingsFaults(faults: [
            place?.fault(message)
                ?? SettingsFault(file: "", line: 1, column: nil, keyPath: keyPath, message: message)
        ])
    }
}
