internal import Encoding

/// A whole answer of the local pool.
struct LocalPoolResponse: Sendable, Equatable {
    /// How much of an answer the client gets, for tests of lost answers.
    enum Delivery: Sendable, Equatable {
        case whole
        /// The head and half of the body; then the connection is closed.
        case half
        /// The connection is closed instead.
        case none
    }

    var status: Int
    var contentType: String
    /// Further header lines.
    var headers: [LocalPoolHeader] = []
    var body: [UInt8]
    var delivery = Delivery.whole

    static let cognitoType = "application/x-amz-json-1.1"

    /// An answer of the pool's own endpoints.
    static func json(_ value: JSON, status: Int = 200) -> LocalPoolResponse {
        LocalPoolResponse(status: status, contentType: "application/json", body: value.encoded())
    }

    /// An error in Cognito's shape: `__type` in the body, the same with a colon and the message in headers.
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

    /// Some messages echo input, and input may hold anything.
    private static func headerSafe(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { (0x20...0x7E).contains($0.value) ? $0 : "?" }))
    }
}
