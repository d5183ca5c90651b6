internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    static let resetPassword = AccountOperation(
        "reset-password", .post, budget: .codes, effect: .passwordReset,
        usualErrors: [.codeMismatch, .codeExpired, .invalidPassword])
}

/// `POST reset-password`: ConfirmForgotPassword. All of the user's sessions end.
struct ResetPasswordEndpoint: AccountEndpoint {
    static let operation = AccountOperation.resetPassword

    private let email: String
    private let code: Secret
    private let newPassword: Secret
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        email = fields.accountName(accounts.settings.nameFields).text
        code = Secret(fields.requiredText("code", atMost: 128, .code))
        newPassword = Secret(fields.requiredText("new_password", atMost: 256, .password))
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        try fields.check()
        call.account = email
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let reset = PasswordChange(current: code, new: newPassword)
        let stored = try await accounts.storeChange(named: email, request)
        // The password was reset but the sessions could not be ended: only that remains.
        let isMade = accounts.unansweredChanges.remove(reset, of: "reset/\(email)")
        if !isMade {
            do throws(Refusal) {
                try await set(accounts, request)
            } catch {
                await accounts.finish(stored)
                throw error
            }
        }
        let subjects: [String]
        do {
            subjects = try await accounts.subjects(named: [email], request)
            for subject in subjects { try await accounts.endSessions(of: subject, sparing: nil, request) }
        } catch {
            accounts.unansweredChanges.note(reset, of: "reset/\(email)")
            accounts.leave(stored)
            throw error
        }
        await accounts.finish(stored)
        // Among several users, the one with this password is unknown.
        return .done(subject: subjects.count == 1 ? subjects.first : nil)
    }

    private func set(_ accounts: CognitoAccounts, _ request: AccountRequest) async throws(Refusal) {
        var input = accounts.app.input(username: accounts.cognitoName(email))
        input["ConfirmationCode"] = .string(code.exposeText())
        input["Password"] = .string(newPassword.exposeText())
        input["UserContextData"] = accounts.userContext(request)
        input["ClientMetadata"] = metadata
        do {
            _ = try await accounts.client.call(.confirmForgotPassword, input)
        } catch {
            throw await accounts.resetRefusal(of: error, code: code, input, request)
        }
    }
}
