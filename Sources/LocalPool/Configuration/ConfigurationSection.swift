internal import Cryptography
internal import Yams

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

    /// One of a few words; `standard` if it isn't there.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default standard: Choice
    ) -> Choice where Choice.RawValue == String {
        guard let member = member(key), let text = reader.text(member.node, at: member.path) else { return standard }
        guard let choice = Choice(rawValue: text) else {
            let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            reader.fault("must be one of \(words)", at: member.path, member.node)
            return standard
        }
        return choice
    }

    /// A list of which each element is one of `known`.
    func names(_ key: String, of known: [String]) -> Set<String> {
        var names: Set<String> = []
        for (node, path) in list(key) {
            guard let name = reader.text(node, at: path) else { continue }
            if !known.contains(name) {
                reader.fault("must be one of \(known.joined(separator: ", "))", at: path, node)
            }
            names.insert(name)
        }
        return names
    }

    private func present<Value>(
        _ key: String, isEmpty: (Value) -> Bool, read: (Node, String) -> Value?
    ) -> Value? {
        if let member = member(key) {
            // An unreadable value has its own fault already.
            guard let value = read(member.node, member.path) else { return nil }
            if !isEmpty(value) { return value }
        }
        reader.fault("is missing or empty", at: ConfigurationReader.join(path, key), node)
        return nil
    }
}
