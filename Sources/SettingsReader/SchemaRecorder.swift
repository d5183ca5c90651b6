internal import Yams

/// Records the keys and formats that the readers of the settings ask for.
///
/// It replaces a file. Each pass simulates a different subset of present keys, and different values of those that other
/// keys depend on (a profile, a list instead of a single name), so that all passes together reach every key. The passes
/// are deterministic: each choice is a hash of the key's path and the pass number.
package final class SchemaRecorder {
    /// The requests that were recorded for one key path.
    package struct Entry {
        /// The section's keys, in the order of the first request.
        package var keys: [String] = []
        package var isSection = false
        package var isList = false
        /// For a list: whether it must have elements.
        package var isNonEmpty = false
        /// For a section whose keys the operator chooses: the regular expression that they match.
        package var names: String?
        package var needsNames = false
        package var scalars: [ScalarSchema] = []
        /// The defaults that readers named; nil stands for a read without a default.
        package var defaults: Set<String?> = []
        /// The number of passes that read the section, and of those that requested the key as a required one.
        package var readings = 0
        package var demands = 0

        package init() {}
    }

    /// Enough to reach a key that one pass in a thousand requests.
    private static let passes = 2048

    package private(set) var entries: [String: Entry] = [:]
    private var pass: UInt64 = 0
    private var read: Set<String> = []
    private var demanded: Set<String> = []

    /// Runs `decode` in all passes and returns what they recorded.
    package static func recording(_ decode: (SettingsMapping) -> Void) -> SchemaRecorder {
        let recorder = SchemaRecorder()
        let context = SettingsContext(
            file: "schema", environment: [:], readFile: { (_) throws(FileReadFailure) in throw .notFound },
            recorder: recorder)
        let root = SettingsNode(
            yaml: Node([(Node, Node)]()), place: SettingsPlace(file: "schema"), context: context)
        for pass in 0..<passes {
            recorder.begin(pass: pass)
            _ = root.section(decode)
        }
        recorder.begin(pass: 0)
        return recorder
    }

    private func begin(pass: Int) {
        for path in read { entries[path, default: Entry()].readings += 1 }
        for path in demanded { entries[path, default: Entry()].demands += 1 }
        read = []
        demanded = []
        self.pass = UInt64(pass)
    }

    // MARK: Sections

    /// The node of a section's key; nil in passes that simulate its absence.
    func key(_ name: String, of section: SettingsNode, isRequired: Bool) -> SettingsNode? {
        let place = section.place.key(name, line: 1, column: nil)
        section.context.asked(for: place.schemaPath, present: true)
        if entries[section.place.schemaPath]?.keys.contains(name) != true {
            entries[section.place.schemaPath, default: Entry()].keys.append(name)
        }
        if isRequired { demanded.insert(place.schemaPath) }
        guard isRequired || isPresent(name, in: section.place) else { return nil }
        return node(at: place, section.context)
    }

    func isPresent(_ name: String, in section: SettingsPlace) -> Bool {
        choice("has " + section.key(name, line: 1, column: nil).schemaPath, of: 2) == 0
    }

    func note(sectionAt place: SettingsPlace) {
        read.insert(place.schemaPath)
        entries[place.schemaPath, default: Entry()].isSection = true
    }

    func entries(
        of section: SettingsNode, named pattern: String, atLeastOne: Bool = false
    ) -> [(name: String, node: SettingsNode)] {
        entries[section.place.schemaPath, default: Entry()].names = pattern
        if atLeastOne { entries[section.place.schemaPath]?.needsNames = true }
        let name = "example"
        return [(name, node(at: section.place.entry(name, line: 1, column: nil), section.context))]
    }

    func element(of list: SettingsNode) -> SettingsNode {
        entries[list.place.schemaPath, default: Entry()].isList = true
        return node(at: list.place.element(0, line: 1, column: nil), list.context)
    }

    func note(nonEmpty name: String, in section: SettingsMapping) {
        let path = section.node.place.key(name, line: 1, column: nil).schemaPath
        entries[path, default: Entry()].isNonEmpty = true
    }

    // MARK: Single values

    func read<Value>(_ format: ScalarFormat<Value>, at place: SettingsPlace) -> Value? {
        note(format.schema, at: place)
        guard !format.choices.isEmpty else { return nil }
        return format.choices[choice("is " + place.schemaPath, of: format.choices.count)]
    }

    func note(_ scalar: ScalarSchema, at place: SettingsPlace) {
        guard entries[place.schemaPath]?.scalars.contains(scalar) != true else { return }
        entries[place.schemaPath, default: Entry()].scalars.append(scalar)
    }

    func note(default text: String?, of name: String, in section: SettingsMapping) {
        let path = section.node.place.key(name, line: 1, column: nil).schemaPath
        entries[path, default: Entry()].defaults.insert(text)
    }

    // MARK: Passes

    private func node(at place: SettingsPlace, _ context: SettingsContext) -> SettingsNode {
        let isScalar = choice("scalar " + place.schemaPath, of: 2) == 0
        return SettingsNode(yaml: isScalar ? Node("x") : Node([(Node, Node)]()), place: place, context: context)
    }

    /// FNV-1a with the pass number mixed in and the finalizer of SplitMix64, so that each pass chooses differently.
    private func choice(_ text: String, of count: Int) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash ^= pass &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((hash ^ (hash >> 31)) % UInt64(count))
    }
}
