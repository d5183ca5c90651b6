internal import Encoding

/// A complete response of the local pool.
struct LocalPoolResponse: Sendable, Equatable {
    /// The part of a response that the client receives, for tests of lost responses.
    enum Delivery: Sendable, Equatable {
        case whole
        /// The head and half of the body are sent; then the connection is closed.
        case half
        /// The connection is closed without a response.
        case none
    }

    var status: Int
    var contentType: String
    /// Further header lines.
    var headers: [LocalPoolHeader] = []
    var body: [UInt8]
    var delivery = Delivery.whole

    static let cognitoType = "application/x-amz-json-1.1"

    /// A response of the pool's own endpoints.
    static func json(_ value: JSON, status: Int = 200) -> LocalPoolResponse {
        LocalPoolResponse(status: status, contentType: "application/json", body: value.encoded())
    }

    /// An error in Cognito's format: `__type` in the body, and in headers the same with a colon and the message.
    static func refusal(_ error: PoolError, status: Int? = nil, requestID: String) -> LocalPoolResponse {
        var body: JSONObject = ["__type": .string(error.type)]
        var headers = [
            LocalPoolHeader(name: "x-amzn-requestid", value: requestID),
            LocalPoolHeader(name: "x-amzn-errortype", value: "\(error.type):"),
        ]
        if !error.message.isEmpty {
            body["message"] = .string(error.message)
            headers.append(.init(name: "x-amzn-errormessage", value: headerSafe(error.message)))
        }
        return LocalPoolResponse(
            status: status ?? error.status, contentType: cognitoType, headers: headers, body: body.encoded())
    }

    /// Replaces characters that a header can't have, since some messages echo input.
    private static func headerSafe(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
    }
}
