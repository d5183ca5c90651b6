internal import Cryptography
internal import Encoding
internal import Yams

/// One reading of a settings file: the text becomes a tree, and the tree becomes values.
package struct SettingsReading {
    package let context: SettingsContext
    /// The first 16 hex digits of the SHA-256 of the file, without the environment and named files.
    package let digest: String
    package let root: SettingsNode

    /// - Parameters:
    ///   - environment: the variables that `${NAME}` in a value refers to.
    ///   - readFile: reads this file and those that `file:` names. Relative paths of those are relative to this file's
    ///     folder.
    /// - Throws: ``SettingsErrors`` if the file can't be read or is not YAML.
    package init(
        path: String, environment: [String: String],
        readFile: @escaping (String) throws(FileReadFailure) -> [UInt8] = { (path) throws(FileReadFailure) in
            try readWholeFile(path)
        }
    ) throws(SettingsErrors) {
        func failure(_ message: String, line: Int = 1, column: Int? = nil) -> SettingsErrors {
            SettingsErrors(errors: [
                SettingsError(file: path, line: line, column: column, keyPath: "", message: message)
            ])
        }
        let bytes: [UInt8]
        do {
            bytes = try readFile(path)
        } catch {
            throw failure("the settings can't be read: \(error)")
        }
        digest = Hexadecimal.encode(Array(SHA256.hash(bytes).prefix(8)))
        do {
            let source = try SettingsSource(bytes)
            context = SettingsContext(
                file: path, environment: environment, readFile: readFile, renamedKeys: source.renamedKeys)
            context.noteSettings(bytes)
            let place = SettingsPlace(file: context.file)
            root = SettingsNode(yaml: source.root ?? Node([(Node, Node)]()), place: place, context: context)
        } catch {
            throw failure(error.message, line: error.line, column: error.column)
        }
    }

    /// Reads the whole file as a section.
    ///
    /// - Throws: ``SettingsErrors`` with all errors of the file.
    package func read<Value>(_ decode: (SettingsMapping) -> Value) throws(SettingsErrors) -> Value {
        guard let value = root.section(decode), context.errors.isEmpty else {
            throw SettingsErrors(errors: context.sortedErrors)
        }
        return value
    }
}
