/// Where a node stands in its file.
package struct SettingsPlace: Sendable {
    let file: String
    package var line: Int
    var column: Int?
    /// `routes[3].access`
    package var keyPath: String
    /// The same with names and numbers left open: `routes[].access`, `upstreams.*.url`.
    var schemaPath: String
    /// The same with elements of lists called by their names, where they have one: `routes[api].access`.
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

    /// A fault at this place that only shows when the parts are put together.
    package func error(_ message: String) -> SettingsError {
        SettingsError(file: file, line: line, column: column, keyPath: keyPath, message: message)
    }

    private static func join(_ path: String, _ name: String) -> String {
        path.isEmpty ? name : "\(path).\(name)"
    }
}

/// The state that one reading of a settings file shares: the faults found so far, and the world the file refers to.
package final class SettingsContext {
    package let file: String
    let environment: [String: String]
    let readFile: (String) throws(FileReadFailure) -> [UInt8]
    /// See ``SettingsSource``.
    let renamedKeys: [String: String]
    package private(set) var errors: [SettingsError] = []
    /// In the order they were read.
    package private(set) var values: [ReadValue] = []
    private var positions: [String: Int] = [:]
    package private(set) var writtenPaths: [WrittenPath] = []
    package private(set) var files = NamedFiles()
    /// See ``GatewaySettings``.
    package private(set) var places: [String: SettingsPlace] = [:]
    /// Every key that was asked for, by schema path, and whether the file has it anywhere.
    private(set) var knownKeys: [String: Bool] = [:]
    /// Not nil for a reading of no file, which only notes what is asked for.
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

    /// Forgets the errors after the first `count`: their section is read again.
    func forgetErrors(after count: Int) { errors.removeLast(errors.count - count) }

    /// Notes what is read at `place`; what is read twice counts once.
    ///
    /// - Parameters:
    ///   - text: nil for what may be a secret.
    ///   - bytes: what makes it another value than before.
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

    /// The faults in the order of the file; those of one line in the order they were found.
    package var sortedErrors: [SettingsError] {
        errors.enumerated()
            .sorted { ($0.element.line, $0.offset) < ($1.element.line, $1.offset) }
            .map(\.element)
    }

    /// The contents of the file that is named at `place`.
    func contents(of path: String, namedAt place: SettingsPlace) throws(FileReadFailure) -> [UInt8] {
        let path = resolve(path: path)
        let bytes = try readFile(path)
        files.note(bytes, at: path, namedAt: place)
        return bytes
    }

    func noteSettings(_ bytes: [UInt8]) {
        files.noteSettings(bytes, at: file)
    }

    /// A path named in the file; a relative one is relative to the file's own folder.
    package func resolve(path: String) -> String {
        guard !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else { return path }
        return file[...slash] + path
    }
}
