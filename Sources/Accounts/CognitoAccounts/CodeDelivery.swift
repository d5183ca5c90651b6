internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `POST resend-code` and `POST forgot-password`: 202, and the same for whoever there is no code for. So the
    /// destination is the name that was typed: Cognito's own would tell that there is a user, and the user's address.
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
            // Cognito's limits are for those who are there.
            case .throttled where error.isLimitOfUser: break
            // So is a message that cannot be sent, which the log tells.
            case _ where error.isOfMessage: _ = refusal(of: error, at: .delivery, request)
            // So is a trigger that refuses one.
            case .rejectedByTrigger where settings.concealsExistingUsers: break
            // Nobody to send it to: no such user, no proven address, or one who needs none.
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
    /// Whether Cognito could not send a message. It sends them to users who are there only.
    var isOfMessage: Bool {
        switch kind {
        case .deliveryFailed: true
        // The pool's quota of messages is used up.
        case .throttled: isLimitOfUser
        // The role that sends, or a trigger that makes a message or sends it: CustomMessage, CustomEmailSender.
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

/// Where a code was sent, masked.
struct CodeDelivery: Sendable {
    var destination: String
    /// `EMAIL` or `SMS`.
    var medium: String

    init(destination: String, medium: String) {
        self.destination = destination
        self.medium = medium
    }

    /// - Parameters:
    ///   - output: with Cognito's `CodeDeliveryDetails`; without them it is as for a code that was sent by e-mail.
    ///   - account: the address that was typed.
    init(_ output: JSONObject, account: String) {
        let details = output["CodeDeliveryDetails"]
        destination = details?["Destination"]?.stringValue ?? Self.mask(account)
        let isPhoneNumber = AccountNameKind(account) == .phoneNumber
        medium = details?["DeliveryMedium"]?.stringValue ?? (isPhoneNumber ? "SMS" : "EMAIL")
    }

    /// Cognito's own form: the first letters of the address's name and domain, or the last digits of a number.
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
