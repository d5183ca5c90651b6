internal import Encoding

/// A trie of header names, searched byte by byte. For most names, the first three bytes show that no list has them.
///
/// Names are normalised during the search: letter case is ignored, and all bytes but letters and digits are equal. A
/// search neither allocates nor hashes.
struct HeaderNameTrie: Sendable {
    private struct Node {
        /// One bit for each byte class with a child.
        var children: UInt64 = 0
        /// The index of the first child; the others follow in the order of their classes.
        var firstChild: Int32 = 0
        /// The value of the name that ends here, and the value of all names with the prefix that ends here; -1 for
        /// none.
        var exact: Int16 = -1
        var below: Int16 = -1
    }

    private let nodes: [Node]
    /// One bit for each combination of byte classes with which a name's first three bytes can begin.
    private let beginnings: [UInt64]

    /// - Parameter patterns: normalised names and values, 0 or more. A `*` at a name's end, after at least two bytes,
    ///   matches any rest. If a pattern is repeated, its last value counts.
    init(_ patterns: [(pattern: String, value: Int16)]) {
        var draft = Draft()
        var beginnings = [UInt64](repeating: 0, count: 1 << 12)
        for (pattern, value) in patterns {
            draft.insert(Array(pattern.utf8), value)
            // Names of two bytes are always searched; a prefix of two bytes matches with any third byte.
            let bytes = Array(pattern.utf8)
            if bytes.count > 3 || bytes.last != UInt8(ascii: "*") {
                guard bytes.count >= 3 else { continue }
                let beginning = Self.beginning(of: bytes.span)
                beginnings[beginning >> 6] |= 1 &<< UInt64(beginning & 63)
            } else {
                beginnings[Self.beginning(of: bytes.span) >> 6] = .max
            }
        }
        self.beginnings = beginnings
        nodes = draft.nodes()
    }

    /// The byte classes of the first three bytes as 18 bits. The name must have at least three bytes.
    @inline(__always)
    private static func beginning(of name: borrowing Span<UInt8>) -> Int {
        let classes = (byteClass(name[0]), byteClass(name[1]), byteClass(name[2]))
        return Int(classes.0) << 12 | Int(classes.1) << 6 | Int(classes.2)
    }

    /// The value of the longest pattern that matches the whole name, or -1 if none does, and whether the name is its
    /// own normalised form.
    @inline(__always)
    func find(_ name: borrowing Span<UInt8>) -> (value: Int16, isPlain: Bool) {
        guard name.count >= 3 else { return walk(name) }
        let beginning = Self.beginning(of: name)
        guard beginnings[beginning >> 6] & 1 &<< UInt64(beginning & 63) != 0 else { return (-1, true) }
        return walk(name)
    }

    private func walk(_ name: borrowing Span<UInt8>) -> (value: Int16, isPlain: Bool) {
        var node = 0
        var (found, isPlain) = (Int16(-1), true)
        for index in name.indices {
            let byteClass = Self.byteClass(name[index])
            if byteClass == Self.other, name[index] != UInt8(ascii: "-") { isPlain = false }
            let bit = UInt64(1) &<< UInt64(byteClass)
            let current = nodes[node]
            guard current.children & bit != 0 else { return (found, isPlain) }
            node = Int(current.firstChild) + (current.children & (bit &- 1)).nonzeroBitCount
            if nodes[node].below >= 0 { found = nodes[node].below }
        }
        return (nodes[node].exact >= 0 ? nodes[node].exact : found, isPlain)
    }

    /// 0–25 for letters of either case, 26–35 for digits, `other` for all others.
    @inline(__always)
    private static func byteClass(_ byte: UInt8) -> UInt8 {
        let letter = (byte | 0x20) &- UInt8(ascii: "a")
        if letter < 26 { return letter }
        let digit = byte &- UInt8(ascii: "0")
        return digit < 10 ? 26 &+ digit : other
    }

    private static let other: UInt8 = 36

    /// The trie while it is built.
    private struct Draft {
        struct Branch {
            var children: [UInt8: Int] = [:]
            var exact: Int16 = -1
            var below: Int16 = -1
        }

        var branches = [Branch()]

        mutating func insert(_ pattern: [UInt8], _ value: Int16) {
            let isPrefix = pattern.last == UInt8(ascii: "*")
            var branch = 0
            for byte in isPrefix ? pattern.dropLast() : pattern[...] {
                let byteClass = HeaderNameTrie.byteClass(byte)
                if let next = branches[branch].children[byteClass] {
                    branch = next
                } else {
                    branches[branch].children[byteClass] = branches.count
                    branch = branches.count
                    branches.append(Branch())
                }
            }
            if isPrefix { branches[branch].below = value } else { branches[branch].exact = value }
        }

        /// The nodes in breadth-first order, so that the children of a node are adjacent.
        func nodes() -> [Node] {
            var order = [0]
            var nodes: [Node] = []
            var next = 0
            while next < order.count {
                let branch = branches[order[next]]
                var node = Node(firstChild: Int32(order.count), exact: branch.exact, below: branch.below)
                for (byteClass, child) in branch.children.sorted(by: { $0.key < $1.key }) {
                    node.children |= UInt64(1) &<< UInt64(byteClass)
                    order.append(child)
                }
                nodes.append(node)
                next += 1
            }
            return nodes
        }
    }
}
