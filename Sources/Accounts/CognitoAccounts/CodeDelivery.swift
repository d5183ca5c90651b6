internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// Handles `POST resend-code` and `POST forgot-password`: 202, also if there is nobody to send a code to. The
    /// destination in the response is the typed name: Cognito's would reveal that the user exists, and the user's
    /// address.
    func sendCode(
        _ operation: CognitoOperation, to email: String, _ metadata: JSON?, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        let isRegistered = operation == .resendConfirmationCode
        var input = app.input(username: isRegistered ? registeredName(email) : cognitoName(email))
        input["UserContextData"] = userContext(request)
        input["ClientMetadata"] = metadata
        do {
            _ = try await client.call(operation, input)
        } catch {
            switch error.kind {
            // Cognito's limits apply only to existing users.
            case .throttled where error.isLimitOfUser: break
            // So do messages that cannot be sent. They are logged.
            case _ where error.isOfMessage: _ = refusal(of: error, at: .delivery, request)
            // So do refusals by a trigger.
            case .rejectedByTrigger where settings.concealsExistingUsers: break
            // Nobody to send a code to: the user does not exist, has no verified address, or needs no code.
            case .userNotFound, .badCredentials, .userDisabled, .temporaryPasswordExpired, .userNotConfirmed,
                .alreadyConfirmed, .invalidParameter, .passwordResetRequired, .lockedOut:
                break
            default: throw refusal(of: error, at: .delivery, request)
            }
        }
        return AccountAnswer(.accepted, ["delivery": CodeDelivery([:], account: email).json])
    }
}

extension CognitoError {
    /// Whether Cognito could not send a message. It sends messages only to existing users.
    var isOfMessage: Bool {
        switch kind {
        case .deliveryFailed: true
        // The pool's quota of messages is exhausted.
        case .throttled: isLimitOfUser
        // The role that sends messages, or a trigger that creates or sends them: CustomMessage, CustomEmailSender.
        case .poolMisconfigured:
            Self.typesOfRoles.contains(ExactText(type)) || message.asciiLowercased.holds("custom")
        default: false
        }
    }

    private static let typesOfRoles: Set<ExactText> = [
        "InvalidSmsRoleAccessPolicyException", "InvalidSmsRoleTrustRelationshipException",
        "InvalidEmailRoleAccessPolicyException",
    ]
}

/// The destination of a code, masked.
struct CodeDelivery: Sendable {
    var destination: String
    /// `EMAIL` or `SMS`.
    var medium: String

    init(destination: String, medium: String) {
        self.destination = destination
        self.medium = medium
    }

    /// - Parameters:
    ///   - output: Cognito's, with `CodeDeliveryDetails`. Without them, the destination and medium follow from
    ///     `account`.
    ///   - account: the address as typed.
    init(_ output: JSONObject, account: String) {
        let details = output["CodeDeliveryDetails"]
        destination = details?["Destination"]?.stringValue ?? Self.mask(account)
        let isPhoneNumber = AccountNameKind(account) == .phoneNumber
        medium = details?["DeliveryMedium"]?.stringValue ?? (isPhoneNumber ? "SMS" : "EMAIL")
    }

    /// Masks an address in Cognito's form: the first letters of the address's name and domain, or the last digits of a
    /// number.
    static func mask(_ address: String) -> String {
        if AccountNameKind(address) == .phoneNumber {
            return "+*******" + String(decoding: address.utf8.suffix(4), as: UTF8.self)
        }
        let parts = address.utf8.split(separator: UInt8(ascii: "@"), maxSplits: 1, omittingEmptySubsequences: false)
        return parts.map { part in
            let first = Substring(part).unicodeScalars.first.map { String($0) } ?? ""
            return "\(first)***"
        }.joined(separator: "@")
    }

    var json: JSON { ["destination": .string(destination), "medium": .string(medium)] }
}
