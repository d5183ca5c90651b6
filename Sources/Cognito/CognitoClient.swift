package import Encoding
package import HTTPClient
internal import Pipeline

/// Speaks Cognito's wire protocol: AWS JSON 1.1, one POST per operation, signed where the operation wants it.
package struct CognitoClient: Sendable {
    private let endpoint: String
    private let fetcher: any Fetcher
    private let deadline: Duration
    private let signer: RequestSigner?

    /// - Parameters:
    ///   - endpoint: such as `https://cognito-idp.eu-west-1.amazonaws.com/`.
    ///   - deadline: the most time one operation may take.
    ///   - signer: signs the operations of administrators; `nil` where none are called.
    package init(
        endpoint: String, fetcher: any Fetcher, deadline: Duration = .seconds(5), signer: RequestSigner? = nil
    ) {
        self.endpoint = endpoint
        self.fetcher = fetcher
        self.deadline = deadline
        self.signer = signer
    }

    /// Carries out one operation and gives its output, empty for an operation without one.
    ///
    /// - Throws: what Cognito reported, or an error of kind ``CognitoErrorKind/unavailable`` where it did not answer.
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

    /// Operations without output answer `{}` or nothing at all.
    private static func output(of response: FetchResponse) throws(CognitoError) -> JSONObject {
        if response.body.isEmpty { return [:] }
        guard let output = (try? JSON.parse(response.body))?.objectValue else {
            throw CognitoError(unavailable: "UnreadableAnswer")
        }
        return output
    }
}

extension CognitoError {
    /// An answer with another status than 200.
    ///
    /// The status itself tells little: throttling is a 400. The name is in the body's `__type`, or in a header where
    /// something between has replaced the body.
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

    /// The error's name without the namespace before `#` and the address behind `:`; `nil` for what is no name.
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

    /// - Parameter cause: a name in the manner of Cognito's, for the log.
    package init(unavailable cause: String) {
        self.init(type: cause, message: "")
        kind = .unavailable
    }
}
