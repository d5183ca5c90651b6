internal import Cryptography
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `POST register`: SignUp.
    func register(_ body: RegisterBody, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        var input = app.input(username: body.email)
        input["Password"] = .string(body.password.exposeText())
        let attributes = [UserAttribute(name: "email", value: body.email)] + body.attributes
        input["UserAttributes"] = .array(attributes.map(\.json))
        input["UserContextData"] = userContext(request)
        let output: JSONObject
        do {
            output = try await client.call(.signUp, input)
        } catch {
            guard error.kind == .usernameExists, settings.concealsExistingUsers else {
                throw refusal(of: error, at: .registration, request)
            }
            return pretendedRegistration(body)
        }
        guard let id = output["UserSub"]?.stringValue else { throw unusable("UnexpectedAnswer", request) }
        let isConfirmed = output["UserConfirmed"]?.boolValue ?? false
        // Who is confirmed by the pool itself gets no code.
        let hasDelivery = output["CodeDeliveryDetails"] != nil || !isConfirmed
        return AccountAnswer(
            .created,
            [
                "user_id": .string(id), "confirmed": .bool(isConfirmed),
                "delivery": hasDelivery ? CodeDelivery(output, account: body.email).json : .null,
            ], subject: id)
    }

    /// What a new user's registration would be answered with. The next steps fail for it as they do with a wrong code.
    private func pretendedRegistration(_ body: RegisterBody) -> AccountAnswer {
        var answer = AccountAnswer(
            .created,
            [
                "user_id": .string(Self.uuid(random(16))), "confirmed": false,
                "delivery": CodeDelivery([:], account: body.email).json,
            ])
        answer.outcome = .refused(.usernameExists, reason: CognitoErrorKind.usernameExists.rawValue)
        return answer
    }

    /// RFC 9562, 5.4.
    private static func uuid(_ random: [UInt8]) -> String {
        var bytes = random
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        return [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
            .map { Hexadecimal.encode(Array($0)) }.joined(separator: "-")
    }

    /// `POST confirm`: ConfirmSignUp. The sign-in that may follow is another call.
    func confirm(_ body: ConfirmBody, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        var input = app.input(username: cognitoName(body.email))
        input["ConfirmationCode"] = .string(body.code.exposeText())
        input["UserContextData"] = userContext(request)
        _ = try await call(.confirmSignUp, input, for: request, at: .code)
        return .done()
    }

    /// `POST resend-code` and `POST forgot-password`: 202, and the same for whoever there is no code for.
    func sendCode(
        _ operation: CognitoOperation, _ body: AccountNameBody, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        var input = app.input(username: cognitoName(body.email))
        input["UserContextData"] = userContext(request)
        var output: JSONObject = [:]
        do {
            output = try await client.call(operation, input)
        } catch {
            switch error.kind {
            // Nobody to send it to: no such user, no proven address, or one who needs none.
            case .userNotFound, .badCredentials, .userDisabled, .userNotConfirmed, .alreadyConfirmed, .invalidParameter,
                .passwordResetRequired:
                break
            default: throw refusal(of: error, at: .delivery, request)
            }
        }
        return AccountAnswer(.accepted, ["delivery": CodeDelivery(output, account: body.email).json])
    }
}

extension UserAttribute {
    var json: JSON { ["Name": .string(name), "Value": .string(value)] }
}

/// Where a code was sent, masked.
struct CodeDelivery: Sendable {
    var destination: String
    /// `EMAIL` or `SMS`.
    var medium: String

    /// - Parameters:
    ///   - output: with Cognito's `CodeDeliveryDetails`; without them it is as for a code that was sent by e-mail.
    ///   - account: the address that was typed.
    init(_ output: JSONObject, account: String) {
        let details = output["CodeDeliveryDetails"]
        destination = details?["Destination"]?.stringValue ?? Self.mask(account)
        medium = details?["DeliveryMedium"]?.stringValue ?? "EMAIL"
    }

    /// Cognito's own form: the first letters of the address's name and domain.
    static func mask(_ address: String) -> String {
        let parts = address.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.map { "\($0.prefix(1))***" }.joined(separator: "@")
    }

    var json: JSON { ["destination": .string(destination), "medium": .string(medium)] }
}
