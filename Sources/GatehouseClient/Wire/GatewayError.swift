/// An error response of the gateway: its body, and `Retry-After`.
public struct GatewayError: Error, Sendable, Hashable, Decodable {
    /// The stable name, such as `NotAuthorizedException`.
    public var name: String
    /// A text that can be shown to the user.
    public var message: String
    public var status: Int
    /// Finds the request in the gateway's logs.
    public var requestID: String?
    /// Faulty fields of the request, with what is wrong with each. Only with status 422.
    public var fields: [String: String] = [:]
    /// Seconds after which the request can be sent again, as the response says; nil if it does not.
    public var retryAfter: Double?

    private enum CodingKeys: String, CodingKey {
        case message, fields
        case name = "error"
        case status = "statusCode"
        case requestID = "requestId"
    }

    public init(name: String, message: String, status: Int, retryAfter: Double? = nil) {
        (self.name, self.message, self.status, self.retryAfter) = (name, message, status, retryAfter)
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        message = try container.decode(String.self, forKey: .message)
        status = try container.decode(Int.self, forKey: .status)
        requestID = try container.decodeIfPresent(String.self, forKey: .requestID)
        fields = try container.decodeIfPresent([String: String].self, forKey: .fields) ?? [:]
    }
}
