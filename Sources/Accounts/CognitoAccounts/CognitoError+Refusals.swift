internal import Cognito
internal import Encoding
internal import Pipeline

extension CognitoError {
    /// The password policy in Cognito's message; nil if the message is not plain text or holds more than the policy.
    var passwordPolicy: String? {
        let known = ["Password did not conform with policy: ", "Password does not conform to policy: "]
        guard let start = known.first(where: { message.begins(with: $0) }) else { return nil }
        let policy = String(decoding: message.utf8.dropFirst(start.utf8.count), as: UTF8.self)
        guard (1...200).contains(policy.utf8.count), policy.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        return "The password does not meet the policy: \(policy)\(policy.ends(with: ".") ? "" : ".")"
    }
}

extension CognitoErrorKind {
    /// The setting to correct if Cognito refuses the gateway itself; nil for other errors.
    var guiltySetting: String? {
        switch self {
        case .clientSecretRefused: "sign_in.cognito.client_secret"
        case .clientUnknown: "sign_in.cognito.client_id, or the issuer's region and pool"
        case .flowNotEnabled: "sign_in.cognito.flow, or the app client's authentication flows in Cognito"
        case .signatureRefused: "the AWS credentials of the gateway, or what they allow"
        case .credentialsMissing: "the AWS credentials of the gateway: environment, file, container or instance"
        case .signUpNotPermitted: "the user pool's AllowAdminCreateUserOnly"
        case .poolMisconfigured: "the user pool's triggers, roles and message settings in Cognito"
        case .blockedByFirewall: "the web application firewall before the user pool"
        case .unsupportedOperation, .invalidParameter: "the user pool's and app client's settings in Cognito"
        default: nil
        }
    }
}
