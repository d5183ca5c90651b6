internal import HTTPTypes

extension HTTPFields {
    /// Puts a list of fields together at once.
    ///
    /// Everything that makes HTTPFields longer is generic code of another module that is not specialised, and shows in
    /// profiles. Replacing what is there is inlined, so a list of the right length is copied first.
    init(_ list: [HTTPField]) {
        guard list.count < Self.blanks.count else {
            self.init()
            replaceSubrange(0..<0, with: list)
            return
        }
        self = Self.blanks[list.count]
        for index in list.indices { self[index] = list[index] }
    }

    /// For each length up to that of an ordinary head, fields without meaning.
    private static let blanks: [HTTPFields] = {
        guard let name = HTTPField.Name("x") else { preconditionFailure("x is a token") }
        let blank = HTTPField(name: name, value: "")
        return (0...64).map { HTTPFields(repeating: blank, count: $0) }
    }()
}
