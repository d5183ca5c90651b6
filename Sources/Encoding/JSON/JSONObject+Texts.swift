/// Access to the strings of members as bytes, without creating values.
extension JSONObject {
    /// Calls `body` with the UTF-8 of the member of this name, if it is a string.
    ///
    /// - Returns: whether there is such a member, and it is a string.
    @discardableResult
    package func withText(of name: String, _ body: (borrowing Span<UInt8>) -> Void) -> Bool {
        switch content {
        case .read(let document, let index):
            return document.withText(of: name, inObjectAt: index, body)
        case .members:
            guard let text = self[name]?.stringValue else { return false }
            body(text.utf8.span)
            return true
        }
    }

    /// Calls `body` with the UTF-8 of each string in the member of this name, if it is a list; other elements are
    /// skipped.
    package func forEachText(in name: String, _ body: (borrowing Span<UInt8>) -> Void) {
        switch content {
        case .read(let document, let index):
            document.forEachText(in: name, inObjectAt: index, body)
        case .members:
            for case .string(let text) in self[name]?.arrayValue ?? [] { body(text.utf8.span) }
        }
    }
}

extension JSONDocument {
    func withText(of name: String, inObjectAt index: Int, _ body: (borrowing Span<UInt8>) -> Void) -> Bool {
        place(of: name.utf8.span, inObjectAt: index).map { withText(at: $0, body) } ?? false
    }

    func forEachText(in name: String, inObjectAt index: Int, _ body: (borrowing Span<UInt8>) -> Void) {
        guard let list = place(of: name.utf8.span, inObjectAt: index), nodes[list].kind == .array else { return }
        let end = Int(nodes[list].next)
        var element = list + 1
        while element < end {
            _ = withText(at: element, body)
            element = Int(nodes[element].next)
        }
    }

    private func withText(at index: Int, _ body: (borrowing Span<UInt8>) -> Void) -> Bool {
        let node = nodes[index]
        switch node.kind {
        case .asciiText:
            let bytes = bytes
            body(bytes.span.extracting(node.range))
        case .otherText:
            let text = texts[Int(node.start)]
            body(text.utf8.span)
        default:
            return false
        }
        return true
    }
}
