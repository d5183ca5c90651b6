internal import Encoding

/// Patterns compiled to a trie over path segments, in flat arrays, searched by comparing bytes.
///
/// The most specific pattern that matches the whole path wins, decided segment by segment from the left: a literal
/// before `*` before `**`. If a branch has no match, the next best one is searched (`/users/me` does not hide
/// `/users/*/photo` from `/users/me/photo`). The trie is a tree, so a search visits each node at most once: the size of
/// the table bounds its cost, whatever the path.
struct RouteTrie: Sendable {
    private struct Node {
        var firstEdge = 0
        var lastEdge = 0
        /// The child for `*`.
        var any = -1
        /// The shape whose pattern ends here.
        var exact = -1
        /// The shape whose pattern ends here with `/**`.
        var below = -1
    }

    /// A literal segment and the node it leads to.
    private struct Edge {
        var labelStart: Int
        var labelLength: Int
        var node: Int
    }

    private var nodes: [Node] = []
    private var edges: [Edge] = []
    private var labels: [UInt8] = []

    /// Compiles the patterns of the shapes, which are identified by number. No two patterns may be equal.
    init(_ patterns: [(shape: Int, pattern: RoutePattern)]) {
        var draft = Draft()
        for (shape, pattern) in patterns {
            draft.insert(pattern, shape: shape)
        }
        for branch in draft.branches {
            let firstEdge = edges.count
            for (literal, node) in branch.literals {
                edges.append(Edge(labelStart: labels.count, labelLength: literal.utf8.count, node: node))
                labels.append(contentsOf: literal.utf8)
            }
            nodes.append(
                Node(
                    firstEdge: firstEdge, lastEdge: edges.count, any: branch.any, exact: branch.exact,
                    below: branch.below))
        }
    }

    /// The number of the shape that matches a path in normal form; nil if none does.
    func find(_ path: borrowing Span<UInt8>) -> Int? {
        let shape = find(path, from: 1, in: 0)
        return shape < 0 ? nil : shape
    }

    /// Searches the subtree of `node` for the segments from `start` on, if any remain. Returns -1 if nothing matches.
    private func find(_ path: borrowing Span<UInt8>, from start: Int, in node: Int) -> Int {
        let node = nodes[node]
        guard start < path.count else { return node.exact >= 0 ? node.exact : node.below }
        var end = start
        while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
        if let next = literal(of: node, path, start, end) {
            let shape = find(path, from: end + 1, in: next)
            if shape >= 0 { return shape }
        }
        if node.any >= 0 {
            let shape = find(path, from: end + 1, in: node.any)
            if shape >= 0 { return shape }
        }
        return node.below
    }

    @inline(__always)
    private func literal(of node: Node, _ path: borrowing Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var index = node.firstEdge
        while index < node.lastEdge {
            let edge = edges[index]
            if edge.labelLength == end - start {
                var offset = 0
                while offset < edge.labelLength, labels[edge.labelStart + offset] == path[start + offset] {
                    offset += 1
                }
                if offset == edge.labelLength { return edge.node }
            }
            index += 1
        }
        return nil
    }

    /// The trie while it is built.
    private struct Draft {
        struct Branch {
            var literals: [(String, Int)] = []
            var any = -1
            var exact = -1
            var below = -1
        }

        var branches = [Branch()]

        mutating func insert(_ pattern: RoutePattern, shape: Int) {
            var node = 0
            for segment in pattern.segments {
                node = child(of: node, segment)
            }
            if pattern.includesBelow {
                branches[node].below = shape
            } else {
                branches[node].exact = shape
            }
        }

        private mutating func child(of node: Int, _ segment: RoutePattern.Segment) -> Int {
            switch segment {
            case .any:
                if branches[node].any >= 0 { return branches[node].any }
                branches[node].any = branches.count
            case .literal(let text):
                // Compared as bytes, as in matching: String equality would treat composed and decomposed characters as
                // equal.
                let known = branches[node].literals.first { $0.0.utf8.elementsEqual(text.utf8) }
                if let known { return known.1 }
                branches[node].literals.append((text, branches.count))
            }
            branches.append(Branch())
            return branches.count - 1
        }
    }
}
