internal import Encoding

/// A part of a list, as a request asks for it.
struct Page {
    /// Cognito's longest one.
    private static let longest = 60

    private let limit: Int
    /// The name of the member that says where to go on.
    private let token: String
    /// The key of the last element of the page before; nil for the first page.
    private let after: String?

    /// - Throws: InvalidParameterException for a limit that is none, or a token that this pool has not given.
    init(_ fields: RequestFields, token: String, limit name: String = "Limit") throws(PoolError) {
        self.token = token
        let limit = fields.object[name].map { $0.integerValue ?? -1 } ?? Int64(Self.longest)
        guard (0...Int64(Self.longest)).contains(limit) else {
            throw RequestFields.violation(
                "Value at 'limit'", "Member must have value less than or equal to \(Self.longest)")
        }
        self.limit = limit == 0 ? Self.longest : Int(limit)
        guard let text = try fields.optional(token) else {
            after = nil
            return
        }
        guard let bytes = Base64URL.decode(text.utf8), let key = String(validating: bytes, as: UTF8.self) else {
            throw .invalidParameter("Invalid pagination token.")
        }
        after = key
    }

    /// The page, and where to go on if there is more.
    ///
    /// - Parameter elements: all, each with a key of its own.
    func answer(_ name: String, _ elements: [(key: String, value: JSON)]) -> JSONObject {
        let start = after.map { after in (elements.firstIndex { $0.key == after } ?? elements.count - 1) + 1 } ?? 0
        let page = elements.dropFirst(start).prefix(limit)
        var answer: JSONObject = [name: .array(page.map(\.value))]
        if let last = page.last, start + page.count < elements.count {
            answer[token] = .string(Base64URL.encode(Array(last.key.utf8)))
        }
        return answer
    }
}
