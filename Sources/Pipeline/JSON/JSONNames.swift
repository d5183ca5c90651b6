/// What is known of the names of an object that is being read.
struct JSONNames {
    /// How many names are compared one by one. Beyond that they are hashed, so that a hostile object of thousands of
    /// names stays linear.
    static let fewNames = 24

    let object: Int
    var count = 0
    /// What the names look like, a bit for each: most names are seen to be new without a comparison.
    var looks: UInt64 = 0
    var seen: Set<String> = []

    init(ofObjectAt object: Int) { self.object = object }
}

/// Refusing of repeated names.
extension JSONParser {
    /// Whether the text just added is the name of no other member of the object.
    func isNew(_ names: inout JSONNames) -> Bool {
        guard let name = nodes.last else { return false }
        defer { names.count += 1 }
        guard names.count >= JSONNames.fewNames else {
            let look = look(of: name)
            defer { names.looks |= look }
            return names.looks & look == 0
                || !hasMember(before: nodes.count - 1, inObjectAt: names.object) { isSameText($0, name) }
        }
        if names.count == JSONNames.fewNames {
            _ = hasMember(before: nodes.count - 1, inObjectAt: names.object) { other in
                names.seen.insert(text(other))
                return false
            }
        }
        return names.seen.insert(text(name)).inserted
    }

    /// A bit for its length and its ends. One that isn't written as it is may be the same as any other.
    private func look(of name: JSONNode) -> UInt64 {
        guard name.kind == .asciiText else { return .max }
        guard name.count > 0 else { return 1 }
        let (first, last) = (Int(bytes[Int(name.start)]), Int(bytes[Int(name.end) - 1]))
        return 1 << UInt64((name.count + 12 * first + last) & 63)
    }

    /// Whether `body` is true of a name of the object at `index`; those from `end` on are not looked at.
    @inline(__always)
    private func hasMember(before end: Int, inObjectAt index: Int, _ body: (JSONNode) -> Bool) -> Bool {
        var member = index + 1
        while member < end {
            if body(nodes[member]) { return true }
            member = Int(nodes[member + 1].next)
        }
        return false
    }

    /// Canonically equivalent names are the same as well, which others may take them for.
    private func isSameText(_ one: JSONNode, _ other: JSONNode) -> Bool {
        guard one.kind == .asciiText, other.kind == .asciiText else { return text(one) == text(other) }
        guard one.count == other.count else { return false }
        let bytes = bytes.span
        return bytes.extracting(one.range).hasSameBytes(as: bytes.extracting(other.range))
    }

    private func text(_ node: JSONNode) -> String {
        guard node.kind == .asciiText else { return texts[Int(node.start)] }
        return String(decoding: bytes[node.range], as: UTF8.self)
    }
}
