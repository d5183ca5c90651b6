internal import Encoding
internal import Store

extension UserPool {
    /// ListUsers: a page of the users that match a filter, oldest first.
    func listUsers(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let filter = try fields.optional("Filter").flatMap { $0.isEmpty ? nil : $0 }
        let condition = try filter.map { (text) throws(PoolError) in try UserFilter(text) }
        let names = Set(try fields.strings("AttributesToGet"))
        let page = try Page(fields, token: "PaginationToken")
        let users = try await store.read { try UserRecord.all(in: $0) }
            .filter { user in condition?.holds(of: user) ?? true }
        return page.answer(
            "Users",
            users.map { user in
                var description = Self.description(of: user, attributes: "Attributes")
                if !names.isEmpty { description["Attributes"] = Self.attributes(of: user) { names.contains($0) } }
                return (user.sub, .object(description))
            })
    }
}

/// The condition of ListUsers: an attribute, `=` or `^=`, and a value in quotation marks.
struct UserFilter {
    private static let attributes: Set<String> = [
        "username", "email", "phone_number", "name", "given_name", "family_name", "preferred_username",
        "cognito:user_status", "status", "sub",
    ]

    let attribute: String
    let isPrefix: Bool
    let value: String

    /// - Throws: InvalidParameterException for filters that Cognito does not support.
    init(_ text: String) throws(PoolError) {
        guard let sign = text.firstIndex(of: "=") else { throw Self.unreadable }
        var name = text[..<sign]
        isPrefix = name.last == "^"
        if isPrefix { name.removeLast() }
        attribute = name.trimmed.unquoted ?? name.trimmed
        guard let value = text[text.index(after: sign)...].trimmed.unquoted else { throw Self.unreadable }
        self.value = value
        guard Self.attributes.contains(attribute) else {
            throw .invalidParameter("Attribute \(attribute) cannot be searched by.")
        }
    }

    func holds(of user: UserRecord) -> Bool {
        guard let found = text(of: user) else { return false }
        // The comparison ignores case.
        let (one, other) = (found.lowercased(), value.lowercased())
        return isPrefix ? one.hasPrefix(other) : one == other
    }

    private func text(of user: UserRecord) -> String? {
        switch attribute {
        case "username": user.username
        case "sub": user.sub
        case "cognito:user_status": user.status.rawValue
        case "status": user.isEnabled ? "Enabled" : "Disabled"
        default: user.value(of: attribute)
        }
    }

    private static let unreadable = PoolError.invalidParameter("Error while parsing the filter.")
}

extension StringProtocol {
    fileprivate var trimmed: String {
        var text = String(drop(while: \.isWhitespace))
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    /// The text between quotation marks, with `\"` unescaped; nil without quotation marks.
    fileprivate var unquoted: String? {
        guard count >= 2, first == "\"", last == "\"" else { return nil }
        return String(dropFirst().dropLast()).replacing("\\\"", with: "\"")
    }
}
