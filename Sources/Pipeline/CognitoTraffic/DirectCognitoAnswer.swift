internal import Encoding
package import HTTPTypes

/// The error response to a direct Cognito call in Cognito's own format, so that its SDKs show the message.
package struct DirectCognitoAnswer: Sendable {
    /// The JSON body of the response.
    package let body: [UInt8]
    private let message: String

    /// - Parameter loginPath: the path of the gateway's login, which the message names.
    package init(loginPath: String = "/api/v1/auth/login") {
        message =
            "Amazon Cognito can't be called directly through this gateway. Sign in with POST \(loginPath) instead."
        body = JSON.object(["__type": "ForbiddenException", "message": .string(message)]).encoded()
    }

    /// The head of the response, without framing: status 403 and the fields from which AWS SDKs read the error's name.
    package func response(requestID: String) -> HTTPResponse {
        var fields = HTTPFields()
        fields[.contentType] = "application/x-amz-json-1.1"
        fields[.cacheControl] = "no-store"
        if let name = HTTPField.Name("x-amzn-errortype") { fields[name] = "ForbiddenException:" }
        if let name = HTTPField.Name("x-amzn-errormessage") { fields[name] = message }
        if let name = HTTPField.Name("x-amzn-requestid") { fields[name] = requestID }
        return HTTPResponse(status: .forbidden, headerFields: fields)
    }
}
