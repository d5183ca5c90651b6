internal import Cryptography
internal import FoundationEssentials
internal import Yams

/// Reads YAML nodes as typed values and collects what is wrong instead of stopping at the first fault.
///
/// Every scalar may name environment variables as `${NAME}`; a secret may be `file:<path>`.
final class ConfigurationReader {
    private let file: String
    private let environment: [String: String]
    private(set) var faults: [String] = []

    init(file: String, environment: [String: String]) {
        self.file = file
        self.environment = environment
    }

    func fault(_ message: String, at path: String, _ node: Node? = nil) {
        let line = node?.mark.map { ":\($0.line)" } ?? ""
        faults.append("\(file)\(line): \(path): \(message)")
    }

    /// The mapping at `path`, with a fault for each key that isn't one of `keys`. Nil if there is none.
    func section(_ node: Node?, at path: String, keys: Set<String>) -> ConfigurationSection? {
        guard let node else { return nil }
        guard let mapping = node.mapping else {
            fault("must be a mapping", at: path, node)
            return nil
        }
        for key in mapping.keys where !keys.contains(key.string ?? "") {
            fault("unknown key", at: Self.join(path, key.string ?? "?"), key)
        }
        return ConfigurationSection(reader: self, node: node, path: path)
    }

    /// The scalar's text with environment variables put in.
    func text(_ node: Node, at path: String) -> String? {
        guard let scalar = node.scalar else {
            fault("must be a single value", at: path, node)
            return nil
        }
        var result = ""
        var rest = scalar.string[...]
        while let start = rest.firstRange(of: "${") {
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else { break }
            let name = String(rest[start.upperBound..<end])
            guard let value = environment[name] else {
                fault("the environment has no \(name)", at: path, node)
                return nil
            }
            result += rest[..<start.lowerBound] + value
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    /// A secret's text: the value itself, or the contents of the file it names, without the line end.
    func secret(_ node: Node, at path: String) -> Secret? {
        guard let text = text(node, at: path) else { return nil }
        guard text.hasPrefix("file:") else { return Secret(text) }
        guard let contents = try? String(contentsOfFile: String(text.dropFirst(5)), encoding: .utf8) else {
            fault("the file can't be read", at: path, node)
            return nil
        }
        return Secret(contents.last?.isNewline == true ? String(contents.dropLast()) : contents)
    }

    static func join(_ path: String, _ key: String) -> String {
        path.isEmpty ? key : "\(path).\(key)"
    }
}

/// One mapping of the configuration file.
struct ConfigurationSection {
    let reader: ConfigurationReader
    let node: Node
    let path: String

    func member(_ key: String) -> (node: Node, path: String)? {
        node.mapping?[Node(key)].map { ($0, ConfigurationReader.join(path, key)) }
    }

    func section(_ key: String, keys: Set<String>) -> ConfigurationSection? {
        reader.section(member(key)?.node, at: ConfigurationReader.join(path, key), keys: keys)
    }

    /// The text of `key`; nil, without a fault, if it isn't there.
    func text(_ key: String) -> String? {
        member(key).flatMap { reader.text($0.node, at: $0.path) }
    }

    /// The text of `key`, which must be there and not empty.
    func required(_ key: String) -> String {
        present(key, isEmpty: \.isEmpty) { reader.text($0, at: $1) } ?? ""
    }

    /// The secret of `key`, which must be there and not empty.
    func requiredSecret(_ key: String) -> Secret {
        present(key, isEmpty: \.isEmpty) { reader.secret($0, at: $1) } ?? Secret("")
    }

    func integer(_ key: String, in range: ClosedRange<Int64>, default standard: Int64) -> Int64 {
        guard let member = member(key) else { return standard }
        guard let text = reader.text(member.node, at: member.path) else { return standard }
        guard let value = Int64(text), range.contains(value) else {
            reader.fault(
                "must be a whole number from \(range.lowerBound) to \(range.upperBound)", at: member.path, member.node)
            return standard
        }
        return value
    }

    func flag(_ key: String, default standard: Bool) -> Bool {
        guard let member = member(key) else { return standard }
        switch reader.text(member.node, at: member.path) {
        case "true": return true
        case "false": return false
        case nil: return standard
        default:
            reader.fault("must be true or false", at: member.path, member.node)
            return standard
        }
    }

    func list(_ key: String) -> [(node: Node, path: String)] {
        guard let member = member(key) else { return [] }
        guard let sequence = member.node.sequence else {
            reader.fault("must be a list", at: member.path, member.node)
            return []
        }
        return sequence.enumerated().map { ($0.element, "\(member.path)[\($0.offset)]") }
    }

    private func present<Value>(
        _ key: String, isEmpty: (Value) -> Bool, read: (Node, String) -> Value?
    ) -> Value? {
        if let member = member(key) {
            // What can't be read has its own fault already.
            guard let value = read(member.node, member.path) else { return nil }
            if !isEmpty(value) { return value }
        }
        reader.fault("is missing or empty", at: ConfigurationReader.join(path, key), node)
        return nil
    }
}
