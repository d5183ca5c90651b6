/// A strict JSON text, checked as a whole, with the position of each of its values.
///
/// Values are created on access, because few of the many claims of a token are ever read.
final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]
    let texts: [String]

    init(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
        // Positions are stored in 32 bits.
        let maximumBytes = min(limits.maximumBytes, Int(UInt32.max))
        guard bytes.count <= maximumBytes else { throw JSONError(reason: .tooLarge, offset: maximumBytes) }
        var parser = JSONParser(bytes: bytes, maximumDepth: limits.maximumDepth)
        try parser.parse()
        self.bytes = bytes
        self.nodes = parser.nodes
        self.texts = parser.texts
    }

    /// The value of the node at `index`; 0 is the whole text.
    func value(at index: Int) -> JSON {
        let node = nodes[index]
        switch node.kind {
        case .null: return .null
        case .false: return .bool(false)
        case .true: return .bool(true)
        case .number: return .number(JSONNumber(checked: asciiText(node)))
        case .asciiText, .otherText: return .string(text(node))
        case .array: return .array(elements(of: index))
        case .object: return .object(JSONObject(in: self, at: index))
        }
    }

    /// The value of the member `name` of the object at `index`. Names are compared by their bytes.
    func value(of name: String, inObjectAt index: Int) -> JSON? {
        place(of: name.utf8.span, inObjectAt: index).map(value)
    }

    /// The index of the node of that member's value.
    func place(of name: borrowing Span<UInt8>, inObjectAt index: Int) -> Int? {
        let (storedBytes, storedNodes) = (bytes, nodes)
        let (bytes, nodes) = (storedBytes.span, storedNodes.span)
        let end = Int(nodes[index].next)
        var member = index + 1
        while member < end {
            let node = nodes[member]
            switch node.kind {
            case .asciiText:
                if node.count == name.count, bytes.matches(name, at: Int(node.start)) { return member + 1 }
            default:
                if name.hasSameBytes(as: texts[Int(node.start)].utf8.span) { return member + 1 }
            }
            member = Int(nodes[member + 1].next)
        }
        return nil
    }

    /// All members of the object at `index`, in the order written.
    func members(ofObjectAt index: Int) -> [(name: String, value: JSON)] {
        let end = Int(nodes[index].next)
        var members: [(name: String, value: JSON)] = []
        var member = index + 1
        while member < end {
            members.append((text(nodes[member]), value(at: member + 1)))
            member = Int(nodes[member + 1].next)
        }
        return members
    }

    private func elements(of index: Int) -> [JSON] {
        let end = Int(nodes[index].next)
        var elements: [JSON] = []
        var element = index + 1
        while element < end {
            elements.append(value(at: element))
            element = Int(nodes[element].next)
        }
        return elements
    }

    private func text(_ node: JSONNode) -> String {
        node.kind == .otherText ? texts[Int(node.start)] : asciiText(node)
    }

    private func asciiText(_ node: JSONNode) -> String {
        String(decoding: bytes[node.range], as: UTF8.self)
    }
}

/// The position of a value in its text. The nodes of its contents follow its own: an array's elements; an object's
/// names, each followed by its value.
struct JSONNode {
    enum Kind {
        case null, `false`, `true`, number, array, object
        /// Strings that are stored as they stand in the text, and strings with escapes or beyond ASCII, which are
        /// stored decoded.
        case asciiText, otherText
    }

    let kind: Kind
    /// The first byte, and the byte after the last: for a string, without its quotes. For a decoded string, its index.
    let start: UInt32
    let end: UInt32
    /// The index of the next node after this one and all of its contents.
    var next: UInt32

    var range: Range<Int> { Int(start)..<Int(end) }
    var count: Int { Int(end - start) }
}
