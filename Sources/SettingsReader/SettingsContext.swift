/// The position of a node in its file.
package struct SettingsPlace: Sendable {
    let file: String
    package var line: Int
    var column: Int?
    /// `routes[3].access`
    package var keyPath: String
    /// The key path with chosen names and indices left open: `routes[].access`, `upstreams.*.url`.
    var schemaPath: String
    /// The key path with list elements identified by name where they have one: `routes[api].access`.
    var namedPath: String
    /// For a list's element: the list's ``namedPath``.
    var list: String?

    /// The place of the file as a whole.
    init(file: String) {
        self.init(file: file, line: 1, column: nil, keyPath: "", schemaPath: "", namedPath: "", list: nil)
    }

    private init(
        file: String, line: Int, column: Int?, keyPath: String, schemaPath: String, namedPath: String, list: String?
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.keyPath = keyPath
        self.schemaPath = schemaPath
        self.namedPath = namedPath
        self.list = list
    }

    /// The place of the key `name` in the section at this place.
    package func key(_ name: String, line: Int, column: Int?) -> SettingsPlace {
        SettingsPlace(
            file: file, line: line, column: column, keyPath: Self.join(keyPath, name),
            schemaPath: Self.join(schemaPath, name), namedPath: Self.join(namedPath, name), list: nil)
    }

    /// The place of an entry whose name the operator chose, as in `upstreams`.
    func entry(_ name: String, line: Int, column: Int?) -> SettingsPlace {
        SettingsPlace(
            file: file, line: line, column: column, keyPath: Self.join(keyPath, name),
            schemaPath: Self.join(schemaPath, "*"), namedPath: Self.join(namedPath, name), list: nil)
    }

    /// The place of a list's element.
    func element(_ index: Int, name: String? = nil, line: Int, column: Int?) -> SettingsPlace {
        SettingsPlace(
            file: file, line: line, column: column, keyPath: "\(keyPath)[\(index)]", schemaPath: "\(schemaPath)[]",
            namedPath: "\(namedPath)[\(name ?? "\(index)")]", list: namedPath)
    }

    /// An error at this place that only shows when the settings are used.
    package func error(_ message: String) -> SettingsError {
        SettingsError(file: file, line: line, column: column, keyPath: keyPath, message: message)
    }

    private static func join(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }
}

/// The state that one reading of a settings file shares: the errors found so far, and access to the environment and to
/// files.
package final class SettingsContext {
    package let file: String
    let environment: [String: String]
    let readFile: (String) throws(FileReadFailure) -> [UInt8]
    /// The original names by their replacements; see ``SettingsSource``.
    let renamedKeys: [String: String]
    package private(set) var errors: [SettingsError] = []
    /// In the order of reading.
    package private(set) var values: [ReadValue] = []
    private var positions: [String: Int] = [:]
    package private(set) var writtenPaths: [WrittenPath] = []
    package private(set) var files = NamedFiles()
    /// By key path: the settings whose errors may show only when they are used; see ``GatewaySettings``.
    package private(set) var places: [String: SettingsPlace] = [:]
    /// All requested keys by schema path, and whether the file has them anywhere.
    private(set) var knownKeys: [String: Bool] = [:]
    /// Set for a reading without a file, which only records the requested keys.
    let recorder: SchemaRecorder?

    init(
        file: String, environment: [String: String],
        readFile: @escaping (String) throws(FileReadFailure) -> [UInt8], renamedKeys: [String: String] = [:],
        recorder: SchemaRecorder? = nil
    ) {
        self.file = file
        self.environment = environment
        self.readFile = readFile
        self.renamedKeys = renamedKeys
        self.recorder = recorder
    }

    package func error(_ message: String, at place: SettingsPlace) {
        errors.append(
            SettingsError(
                file: file, line: place.line, column: place.column, keyPath: place.keyPath, message: message))
    }

    /// Removes the errors after the first `count`, because their section is read again.
    func forgetErrors(after count: Int) { errors.removeLast(errors.count - count) }

    /// Records the value at `place`; a value that is read twice is recorded once.
    ///
    /// - Parameters:
    ///   - text: nil if the value may be a secret.
    ///   - bytes: the value as it is compared with an earlier one.
    func note(_ text: String?, _ bytes: [UInt8], at place: SettingsPlace, from source: ReadValue.Source = .settings) {
        let value = ReadValue(place, text: text, bytes: bytes, source: source)
        if let position = positions[place.keyPath] {
            values[position] = value
        } else {
            positions[place.keyPath] = values.count
            values.append(value)
        }
    }

    func note(_ path: WrittenPath) {
        writtenPaths.append(path)
        note(path.place)
    }

    package func note(_ place: SettingsPlace) {
        places[place.keyPath] = place
    }

    func asked(for schemaPath: String, present: Bool) {
        knownKeys[schemaPath] = present || knownKeys[schemaPath] == true
    }

    /// The errors sorted by line; those of one line in the order of detection.
    package var sortedErrors: [SettingsError] {
        errors.enumerated()
            .sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }
            .map(\.element)
    }

    /// Reads the file that is named at `place`.
    func contents(of path: String, namedAt place: SettingsPlace) throws(FileReadFailure) -> [UInt8] {
        let path = resolve(path: path)
        let bytes = try readFile(path)
        files.note(bytes, at: path, namedAt: place)
        return bytes
    }

    func noteSettings(_ bytes: [UInt8]) {
        files.noteSettings(bytes, at: file)
    }

    /// Resolves a path that the file names; a relative one is relative to the folder of the settings file.
    package func resolve(path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
