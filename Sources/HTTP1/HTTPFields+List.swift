internal import HTTPTypes

extension HTTPFields {
    /// Creates fields from a list in one step.
    ///
    /// Methods that extend HTTPFields are unspecialized generic code of another module, and show in profiles. Replacing
    /// existing fields is inlined, so blank fields of the right count are copied and then replaced.
    init(_ list: [HTTPField]) {
        guard list.count < Self.blanks.count else {
            self.init()
            replaceSubrange(0..<0, with: list)
            return
        }
        self = Self.blanks[list.count]
        for index in list.indices { self[index] = list[index] }
    }

    /// Placeholder fields for each count up to that of an ordinary head.
    private static let blanks: [HTTPFields] = {
        guard let name = HTTPField.Name("x") else { preconditionFailure("x is a token") }
        let blank = HTTPField(name: name, value: "")
        return (0...64).map { HTTPFields(repeating: blank, count: $0) }
    }()
}
