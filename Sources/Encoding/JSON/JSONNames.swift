/// The names parsed so far of an object.
struct JSONNames {
    /// The number of names that are compared one by one. Further names are hashed, so that a hostile object of
    /// thousands of names takes linear time.
    static let fewNames = 24

    let object: Int
    var count = 0
    /// One bit for each name's length and ends: most names are known to be new without a comparison.
    var looks: UInt64 = 0
    var seen: Set<[UInt8]> = []

    init(ofObjectAt object: Int) { self.object = object }
}

/// The refusal of repeated names.
///
/// Names are equal if they are the same characters once unescaped (RFC 8259, 8.3), that is, the same UTF-8. Unicode's
/// canonical equivalence, by which strings are compared, would take time quadratic in the number of combining marks:
/// seconds for the size of a request body, before any signature is checked.
extension JSONParser {
    /// Whether no other member of the object has the name that was just added.
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

    /// One bit for the length and the ends. A name that is stored decoded may equal any other, so it has all bits.
    private func look(of name: JSONNode) -> UInt64 {
        guard name.kind == .asciiText else { return .max }
        guard name.count > 0 else { return 1 }
        let (first, last) = (Int(bytes[Int(name.start)]), Int(bytes[Int(name.end) - 1]))
        return 1 << UInt64((name.count + 12 * first + last) & 63)
    }

    /// Whether `body` is true for a name of the object at `index` before node `end`.
    @inline(__always)
    private func hasMember(before end: Int, inObjectAt index: Int, _ body: (JSONNode) -> Bool) -> Bool {
        var member = index + 1
        while member < end {
            if body(nodes[member]) { return true }
            member = Int(nodes[member + 1].next)
        }
        return false
    }

    private func isSameText(_ one: JSONNode, _ other: JSONNode) -> Bool {
        let bytes = bytes.span
        guard one.kind == .asciiText else {
            let text = texts[Int(one.start)]
            guard other.kind == .asciiText else { return text.hasSameBytes(as: texts[Int(other.start)]) }
            return text.utf8.span.hasSameBytes(as: bytes.extracting(other.range))
        }
        guard other.kind == .asciiText else { return isSameText(other, one) }
        guard one.count == other.count else { return false }
        return bytes.extracting(one.range).hasSameBytes(as: bytes.extracting(other.range))
    }

    private func text(_ node: JSONNode) -> [UInt8] {
        guard node.kind == .asciiText else { return Array(texts[Int(node.start)].utf8) }
        return Array(bytes[node.range])
    }
}
