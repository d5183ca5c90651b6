internal import Encoding

/// The part of a list that a request asks for.
struct Page {
    /// Cognito's maximum page size.
    private static let longest = 60

    private let limit: Int
    /// The name of the member with the continuation token.
    private let token: String
    /// The key of the last element of the previous page; nil for the first page.
    private let after: String?

    /// - Throws: InvalidParameterException for an invalid limit, or a token that this pool has not issued.
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

    /// The page, with a continuation token if there is more.
    ///
    /// - Parameter elements: the whole list with unique keys.
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
