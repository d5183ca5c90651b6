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
