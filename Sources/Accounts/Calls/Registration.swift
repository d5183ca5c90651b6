internal import Cognito
internal import Cryptography
internal import Encoding
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
            var answer = concealedRegistration(body, subject: nil)
            answer.outcome = .refused(.usernameExists, reason: .cognito(error.kind))
            return answer
        }
        guard let id = output["UserSub"]?.stringValue else { throw unusable("UnexpectedAnswer", request) }
        let isConfirmed = output["UserConfirmed"]?.boolValue ?? false
        if settings.concealsExistingUsers, !isConfirmed { return concealedRegistration(body, subject: id) }
        // A user whom the pool itself confirms gets no code.
        let hasDelivery = output["CodeDeliveryDetails"] != nil || !isConfirmed
        return AccountAnswer(
            .created,
            [
                "user_id": .string(id), "confirmed": .bool(isConfirmed),
                "delivery": hasDelivery ? CodeDelivery(output, account: body.email).json : .null,
            ], subject: id)
    }

    /// The answer for an address that is free and for one that is taken. It has nothing of Cognito's in it: neither the new
    /// user's id, which a made-up one would not be like, nor where the code went.
    private func concealedRegistration(_ body: RegisterBody, subject: String?) -> AccountAnswer {
        AccountAnswer(
            .created,
            ["user_id": .null, "confirmed": false, "delivery": CodeDelivery([:], account: body.email).json],
            subject: subject)
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
            // Cognito's limits are for those who are there.
            case .throttled where settings.concealsExistingUsers && error.isLimitOfUser: break
            // So are a message that cannot be sent, and a trigger that refuses one.
            case .deliveryFailed where settings.concealsExistingUsers: break
            case .rejectedByTrigger where settings.concealsExistingUsers: break
            // Nobody to send it to: no such user, no proven address, or one who needs none.
            case .userNotFound, .badCredentials, .userDisabled, .userNotConfirmed, .alreadyConfirmed, .invalidParameter,
                .passwordResetRequired:
                break
            default: throw refusal(of: error, at: .delivery, request)
            }
        }
        if settings.concealsExistingUsers { output = [:] }
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
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.map { part in
            let first = Substring(part).unicodeScalars.first.map { String($0) } ?? ""
            return "\(first)***"
        }.joined(separator: "@")
    }

    var json: JSON { ["destination": .string(destination), "medium": .string(medium)] }
}
