package import Encoding
package import HTTPClient
internal import Pipeline

/// A client of Cognito's wire protocol: AWS JSON 1.1, one POST per operation, signed if the operation requires it.
package struct CognitoClient: Sendable {
    private let endpoint: String
    private let fetcher: any Fetcher
    private let deadline: Duration
    private let signer: RequestSigner?

    /// - Parameters:
    ///   - endpoint: such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    ///   - deadline: the time limit of one operation.
    ///   - signer: signs the admin operations; nil if none are called.
    package init(
        endpoint: String, fetcher: any Fetcher, deadline: Duration = .seconds(5), signer: RequestSigner? = nil
    ) {
        self.endpoint = endpoint
        self.fetcher = fetcher
        self.deadline = deadline
        self.signer = signer
    }

    /// Calls one operation and returns its output, which is empty for an operation without output.
    ///
    /// - Throws: the error that Cognito reported, or one of kind ``CognitoErrorKind/unavailable`` if there was no
    ///   response.
    package func call(_ operation: CognitoOperation, _ input: JSONObject) async throws(CognitoError) -> JSONObject {
        var request = FetchRequest(
            method: "POST",
            url: endpoint,
            headers: [
                ("Content-Type", "application/x-amz-json-1.1"),
                ("X-Amz-Target", "AWSCognitoIdentityProviderService.\(operation.rawValue)"),
            ],
            body: JSON.object(input).encoded(),
            deadline: deadline)
        if operation.isSigned, let signer { request = try await signer.signed(request) }
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw CognitoError(noAnswer: error)
        }
        guard response.status == 200 else { throw CognitoError(response) }
        return try Self.output(of: response)
    }

    /// Decodes a response. Operations without output respond with `{}` or an empty body.
    private static func output(of response: FetchResponse) throws(CognitoError) -> JSONObject {
        if response.body.isEmpty { return [:] }
        guard let output = (try? JSON.parse(response.body))?.objectValue else {
            throw CognitoError(unavailable: "UnreadableAnswer")
        }
        return output
    }
}

extension CognitoError {
    /// Creates the error for a response with a status other than 200.
    ///
    /// The status says little: throttling is a 400. The error's name is in the body's `__type`, or in a header if an
    /// intermediary has replaced the body.
    package init(_ response: FetchResponse) {
        let body = (try? JSON.parse(response.body))?.objectValue
        let named = body?["__type"]?.stringValue ?? response.header("x-amzn-errortype")
        guard response.status < 500, let type = named.flatMap(Self.bareName) else {
            self.init(unavailable: "Status\(response.status)")
            return
        }
        let message = body?["message"]?.stringValue ?? body?["Message"]?.stringValue
        self.init(type: type, message: message ?? response.header("x-amzn-errormessage") ?? "")
    }

    /// Returns the error's name without the namespace before `#` and the address after `:`; nil if it is not a valid
    /// name.
    static func bareName(_ raw: String) -> String? {
        let name =
            raw.utf8.prefix { $0 != UInt8(ascii: ":") }.split(separator: UInt8(ascii: "#")).last ?? Substring().utf8
        guard (1...64).contains(name.count), name.allSatisfy({ $0.isASCIILetterOrDigit }) else { return nil }
        return String(Substring(name))
    }

    package init(noAnswer error: FetchError) {
        let cause =
            switch error {
            case .cannotConnect: "CannotConnect"
            case .timedOut: "TimedOut"
            case .responseTooLarge: "AnswerTooLarge"
            case .forbiddenScheme: "ForbiddenScheme"
            case .forbiddenAddress: "ForbiddenAddress"
            case .failed: "TransferFailed"
            case .cancelled: "Cancelled"
            }
        self.init(unavailable: cause)
        noAnswer = error
    }

    /// - Parameter cause: a name in the style of Cognito's, for the log.
    package init(unavailable cause: String) {
        self.init(type: cause, message: "")
        kind = .unavailable
    }
}
