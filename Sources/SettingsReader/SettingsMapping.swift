internal import Cryptography
internal import Yams

/// A section of the file. It records which keys were requested; ``reportUnknownKeys()`` reports the others as errors.
package final class SettingsMapping {
    package let node: SettingsNode
    private var values: [(name: String, node: SettingsNode)] = []
    private var asked: Set<String> = []
    /// Required keys that the section lacks.
    private var missing: Set<String> = []

    fileprivate init(_ node: SettingsNode, _ mapping: Node.Mapping, renamedKeys: [String: String]) {
        self.node = node
        var firstLines: [String: Int] = [:]
        for (key, value) in mapping {
            let line = key.mark?.line ?? node.place.line
            guard case .scalar(let scalar) = key else {
                node.context.error("a key must be a single value", at: node.place)
                continue
            }
            if let name = renamedKeys[scalar.string] {
                firstLines[name] = firstLines[name] ?? line
                continue
            }
            let place = Self.place(of: scalar, value, in: node.place, line: line)
            values.append((scalar.string, SettingsNode(yaml: value, place: place, context: node.context)))
        }
        for (name, value) in values {
            guard let first = firstLines[name] else { continue }
            value.error("is given more than once, first on line \(first)")
        }
    }

    /// The place of a section or list is that of its key, where a reader looks for it; a single value has its own.
    private static func place(
        of key: Node.Scalar, _ value: Node, in parent: SettingsPlace, line: Int
    ) -> SettingsPlace {
        if case .scalar(let scalar) = value, let mark = scalar.mark, mark.line >= line {
            return parent.key(key.string, line: mark.line, column: mark.column)
        }
        return parent.key(key.string, line: line, column: key.mark?.column)
    }

    private func find(_ name: String, isRequired: Bool = false) -> SettingsNode? {
        if let recorder = node.context.recorder { return recorder.key(name, of: node, isRequired: isRequired) }
        asked.insert(name)
        let found = values.first { $0.name == name }?.node
        node.context.asked(for: node.place.key(name, line: 0, column: nil).schemaPath, present: found != nil)
        return found
    }

    /// Whether the file has this key.
    package func has(_ name: String) -> Bool {
        if let recorder = node.context.recorder { return recorder.isPresent(name, in: node.place) }
        return values.contains { $0.name == name }
    }

    /// The position of this key; nil if the file lacks it.
    package func place(of name: String) -> SettingsPlace? { values.first { $0.name == name }?.node.place }

    /// Whether the file has this key with an empty list, which callers reject.
    package func isEmptyList(_ name: String) -> Bool {
        node.context.recorder?.note(nonEmpty: name, in: self)
        guard case .sequence(let sequence) = values.first(where: { $0.name == name })?.node.yaml else { return false }
        return sequence.isEmpty
    }

    /// Records an error of a key that the file has.
    package func error(_ name: String, _ message: String) {
        values.first { $0.name == name }?.node.error(message)
    }

    /// Records an error of a key, whether or not the file has it.
    package func errorOrMissing(_ name: String, _ message: String) {
        let place = place(of: name) ?? node.place.key(name, line: node.place.line, column: node.place.column)
        node.context.error(message, at: place)
    }

    /// The node of an optional key; nil if the file lacks it.
    package func optional(_ name: String) -> SettingsNode? {
        find(name)
    }

    /// The node of a required key; its absence is recorded as an error.
    package func required(_ name: String) -> SettingsNode? {
        guard let found = find(name, isRequired: true) else {
            let place = node.place.key(name, line: node.place.line, column: node.place.column)
            missing.insert(name)
            node.context.error("is missing", at: place)
            return nil
        }
        return found
    }

    /// An optional value. An invalid one is recorded as an error and read as the default.
    package func value<Value>(_ name: String, _ format: ScalarFormat<Value>, default standard: Value) -> Value {
        node.context.recorder?.note(default: format.show(standard), of: name, in: self)
        guard let found = find(name) else {
            note(default: format.show(standard), of: name)
            return standard
        }
        return found.read(format) ?? standard
    }

    private func note(default text: String?, of name: String) {
        guard let text, node.context.recorder == nil else { return }
        let place = node.place.key(name, line: node.place.line, column: nil)
        node.context.note(text, Array(text.utf8), at: place, from: .standard)
    }

    package func value<Value>(_ name: String, _ format: ScalarFormat<Value>) -> Value? {
        node.context.recorder?.note(default: nil, of: name, in: self)
        return find(name)?.read(format)
    }

    package func required<Value>(_ name: String, _ format: ScalarFormat<Value>) -> Value? {
        node.context.recorder?.note(default: nil, of: name, in: self)
        return required(name)?.read(format)
    }

    /// A list of distinct single values. Nil if the key is left out or its value is no list.
    package func list<Value>(_ name: String, _ format: ScalarFormat<Value>, of expected: String) -> [Value]? {
        guard let found = find(name), let elements = found.elements(expected: expected) else { return nil }
        var seen: Set<String> = []
        for element in elements {
            guard let text = element.yaml.scalar?.string, !seen.insert(text).inserted else { continue }
            element.refuse("is given more than once")
        }
        return elements.compactMap { $0.read(format) }
    }

    /// An optional section whose keys are all optional. If it is left out, `decode` reads an empty section and so
    /// returns the defaults.
    package func section<Value>(_ name: String, _ decode: (SettingsMapping) -> Value) -> Value {
        let found = find(name)
        if let value = found?.section(decode) { return value }
        let place = found?.place ?? node.place.key(name, line: node.place.line, column: nil)
        let empty = SettingsNode(yaml: Node([(Node, Node)]()), place: place, context: node.context)
        return decode(SettingsMapping(empty, Node.Mapping([]), renamedKeys: [:]))
    }

    fileprivate func chosenEntries() -> [(name: String, node: SettingsNode)] {
        values.map { name, value in
            let place = node.place.entry(name, line: value.place.line, column: value.place.column)
            return (name, SettingsNode(yaml: value.yaml, place: place, context: node.context))
        }
    }

    /// A copy of this section in which misspelled keys have the names that were probably meant, at their own places.
    /// Only keys whose absence causes further errors are renamed: required keys and whole sections. Nil if there are
    /// none.
    fileprivate func corrected() -> (section: SettingsMapping, unknown: [(node: SettingsNode, meant: String)])? {
        var unknown: [(node: SettingsNode, meant: String)] = []
        let corrected = SettingsMapping(node, Node.Mapping([]), renamedKeys: [:])
        corrected.values = values
        for (index, (name, value)) in values.enumerated() where !asked.contains(name) {
            guard let meant = suggestion(for: name, among: asked.sorted()), missing.contains(meant) || !value.isScalar,
                !corrected.values.contains(where: { $0.name == meant })
            else { continue }
            unknown.append((value, meant))
            let place = node.place.key(meant, line: value.place.line, column: value.place.column)
            corrected.values[index] = (meant, SettingsNode(yaml: value.yaml, place: place, context: node.context))
        }
        return unknown.isEmpty ? nil : (corrected, unknown)
    }

    fileprivate func reportUnknownKeys() {
        for (name, value) in values where !asked.contains(name) {
            if let meant = suggestion(for: name, among: asked.sorted()) {
                value.error("unknown key (did you mean \"\(meant)\"?)")
            } else {
                value.error("unknown key (known here: \(asked.sorted().joined(separator: ", ")))")
            }
        }
    }
}

extension SettingsNode {
    /// Reads this node as a section and records the keys that `decode` does not request as errors.
    ///
    /// If the absence of a misspelled key would cause more errors, in this section or in those that refer to it, the
    /// section is read again with the name that was probably meant. The misspelling then is the only error.
    package func section<Value>(_ decode: (SettingsMapping) -> Value) -> Value? {
        guard let mapping = mapping() else { return nil }
        let known = context.errors.count
        let value = decode(mapping)
        guard let (corrected, unknown) = mapping.corrected() else {
            mapping.reportUnknownKeys()
            return value
        }
        context.forgetErrors(after: known)
        for (node, meant) in unknown { node.error("unknown key (did you mean \"\(meant)\"?)") }
        let again = decode(corrected)
        corrected.reportUnknownKeys()
        return again
    }

    /// Reads this node as a section of named entries. Logs and metrics use the names, so their characters are
    /// restricted.
    package func entries(atLeastOne kind: String? = nil) -> [(name: String, node: SettingsNode)] {
        if let recorder = context.recorder {
            return recorder.entries(of: self, named: "^[A-Za-z0-9_-]{1,64}$", atLeastOne: kind != nil)
        }
        guard let entries = mapping()?.chosenEntries() else { return [] }
        if let kind, entries.isEmpty { error("must hold at least one \(kind)") }
        for (name, entry) in entries where !Self.isName(name) {
            entry.error("the name must be 1 to 64 letters, digits, \"-\" or \"_\"")
        }
        return entries
    }

    /// Reads this node as a section of entries whose names another party chose, such as identifiers.
    package func identifiedEntries() -> [(name: String, node: SettingsNode)] {
        if let recorder = context.recorder { return recorder.entries(of: self, named: "^[!-~]{1,256}$") }
        guard let entries = mapping()?.chosenEntries() else { return [] }
        for (name, entry) in entries where (try? ScalarFormat.identifier.read(name)) == nil {
            entry.error("the name must be 1 to 256 visible ASCII characters without spaces")
        }
        return entries
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    private func mapping() -> SettingsMapping? {
        if let recorder = context.recorder {
            recorder.note(sectionAt: place)
            return SettingsMapping(self, Node.Mapping([]), renamedKeys: [:])
        }
        if isEmptySection { context.note("{}", [], at: place) }
        if case .mapping(let mapping) = yaml {
            return SettingsMapping(self, mapping, renamedKeys: context.renamedKeys)
        }
        // A section whose keys are all commented out has the defaults.
        if isNull { return SettingsMapping(self, Node.Mapping([]), renamedKeys: [:]) }
        error("must be a section of keys, not \(kind)")
        return nil
    }
}
