/// The signed-in user, as the gateway returns it with a sign-in and from `me`.
public struct User: Sendable, Hashable, Codable {
    /// All members as the gateway sent them. A gateway with `user_fields` or `user_sync` sends the app's own: encode
    /// the user, and decode your own type.
    public let fields: JSONValue

    public init(fields: JSONValue) { self.fields = fields }

    public init(from decoder: any Decoder) throws { fields = try JSONValue(from: decoder) }
    public func encode(to encoder: any Encoder) throws { try fields.encode(to: encoder) }

    /// The user's identifier: the pool's `sub`, or the gateway's own for users of Sign in with Apple. Empty if the
    /// gateway's settings give it another name.
    public var id: String { fields["id"]?.text ?? "" }
    public var email: String? { fields["email"]?.text }
    public var isEmailVerified: Bool { fields["email_verified"] == .bool(true) }
    public var name: String? { fields["name"]?.text }
    public var username: String? { fields["username"]?.text }
    /// The user's groups in the pool; empty for users of Sign in with Apple.
    public var groups: [String] { fields["groups"]?.texts ?? [] }
    public var phoneNumber: String? { (fields["phoneNumber"] ?? fields["attributes"]?["phone_number"])?.text }
    /// The role that the gateway gives to users of Sign in with Apple.
    public var role: String? { fields["role"]?.text }
    /// The attributes that the gateway's settings list.
    public var attributes: [String: String] {
        if case .object(let members)? = fields["attributes"] { members.compactMapValues(\.text) } else { [:] }
    }
}
