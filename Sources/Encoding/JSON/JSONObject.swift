/// A JSON object: its members in the order written, each name once.
///
/// Names are compared by their bytes. Swift's `==` would also match canonically equivalent ones (U+212A for `K`).
package struct JSONObject: Sendable, ExpressibleByDictionaryLiteral, Sequence {
    package typealias Element = (name: String, value: JSON)

    enum Content {
        case members([Element])
        /// An object of a parsed text, and the index of its node.
        case read(JSONDocument, Int)
    }

    private(set) var content: Content

    package init() { content = .members([]) }

    /// If a name is repeated, its last member counts.
    package init(_ members: some Sequence<(String, JSON)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }

    package init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }

    init(in document: JSONDocument, at index: Int) { content = .read(document, index) }

    package var members: [Element] {
        switch content {
        case .members(let members): members
        case .read(let document, let index): document.members(ofObjectAt: index)
        }
    }

    package var count: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }

    package func makeIterator() -> IndexingIterator<[Element]> { members.makeIterator() }

    /// The value of the member of this name. Setting replaces it in place or adds it at the end; nil removes it.
    package subscript(name: String) -> JSON? {
        get {
            switch content {
            case .members(let members): members.first { $0.name.hasSameBytes(as: name) }?.value
            case .read(let document, let index): document.value(of: name, inObjectAt: index)
            }
        }
        set {
            var members = members
            // Releases the stored array, so that the change does not copy it.
            content = .members([])
            switch (members.firstIndex { $0.name.hasSameBytes(as: name) }, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
            content = .members(members)
        }
    }
}

extension JSONObject: Equatable {
    /// Objects are equal when they have the same members, in whatever order (RFC 8259, 1: "unordered").
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.name] == $0.value }
    }
}
