/// A JSON object: its members in the order written, each name once.
///
/// Names are found by their bytes. Swift's `==` would also find canonically equivalent ones (U+212A for `K`).
package struct JSONObject: Sendable, ExpressibleByDictionaryLiteral, RandomAccessCollection {
    package typealias Element = (name: String, value: JSON)

    private var members: [(name: String, value: JSON)]

    package init() { members = [] }

    /// Of members with the same name the last one counts.
    package init(_ members: some Sequence<(String, JSON)>) {
        self.members = []
        for (name, value) in members { self[name] = value }
    }

    package init(dictionaryLiteral elements: (String, JSON)...) { self.init(elements) }

    /// For the parser, which has already refused repeated names.
    init(unique members: [(name: String, value: JSON)]) { self.members = members }

    package var startIndex: Int { members.startIndex }
    package var endIndex: Int { members.endIndex }
    package subscript(position: Int) -> (name: String, value: JSON) { members[position] }

    /// The value of the member of this name. Setting replaces it in its place or adds it at the end; nil removes it.
    package subscript(name: String) -> JSON? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    private func index(of name: String) -> Int? {
        members.firstIndex { $0.name.hasSameBytes(as: name) }
    }
}

extension JSONObject: Equatable {
    /// Objects are equal when they have the same members, in whatever order (RFC 8259, 1: "unordered").
    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.count == right.count && left.allSatisfy { right[$0.name] == $0.value }
    }
}

extension String {
    /// Whether both are the same UTF-8 bytes; `==` on strings is Unicode's canonical equivalence.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.span.matches(other.utf8.span)
    }
}
