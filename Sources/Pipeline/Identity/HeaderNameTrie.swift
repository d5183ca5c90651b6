/// Finds header names by walking them byte by byte, so that most are known to be in no list after two or three steps.
///
/// Names are normalised on the way: case aside, every byte but letters and digits is the same. Nothing is allocated and
/// nothing is hashed.
struct HeaderNameTrie: Sendable {
    private struct Node {
        /// One bit for each byte class that a child has.
        var children: UInt64 = 0
        /// The position of the first child; the others follow in the order of their classes.
        var firstChild: Int32 = 0
        /// The values of the name that ends here, and of all names that begin with what led here; -1 for none.
        var exact: Int16 = -1
        var below: Int16 = -1
    }

    private let nodes: [Node]

    /// - Parameter patterns: normalised names and values, 0 or more; `*` at a name's end stands for any rest. The last
    ///   value of a pattern counts.
    init(_ patterns: [(pattern: String, value: Int16)]) {
        var draft = Draft()
        for (pattern, value) in patterns { draft.insert(Array(pattern.utf8), value) }
        nodes = draft.nodes()
    }

    /// The value of the longest pattern that the whole name matches, and whether the name is its own normalised form;
    /// -1 if none does.
    @inline(__always)
    func find(_ name: borrowing Span<UInt8>) -> (value: Int16, isPlain: Bool) {
        var node = 0
        var (found, isPlain) = (Int16(-1), true)
        for index in name.indices {
            let byte = asciiLowercased(name[index])
            if !HeaderNames.isPlain(byte) { isPlain = false }
            let bit = UInt64(1) &<< UInt64(Self.byteClass(byte))
            let children = nodes[node].children
            guard children & bit != 0 else { return (found, isPlain) }
            node = Int(nodes[node].firstChild) + (children & (bit &- 1)).nonzeroBitCount
            if nodes[node].below >= 0 { found = nodes[node].below }
        }
        return (nodes[node].exact >= 0 ? nodes[node].exact : found, isPlain)
    }

    /// 0–25 for letters, 26–35 for digits, 36 for all others.
    @inline(__always)
    private static func byteClass(_ lowercased: UInt8) -> UInt8 {
        let letter = lowercased &- UInt8(ascii: "a")
        if letter < 26 { return letter }
        let digit = lowercased &- UInt8(ascii: "0")
        return digit < 10 ? 26 &+ digit : 36
    }

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

        /// In the order of breadth, so that the children of each are together.
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
