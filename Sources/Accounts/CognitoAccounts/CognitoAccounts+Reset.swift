internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline

/// Refusals of password resets, where the order of a pool's checks must not reveal who has an account.
extension CognitoAccounts {
    /// Returns the refusal of a reset. A new password that the pool does not accept is reported as such only if that
    /// reveals nothing; otherwise the response is a wrong code.
    ///
    /// - Parameter input: Cognito's, with this `code`.
    func resetRefusal(
        of error: CognitoError, code: Secret, _ input: JSONObject, _ request: AccountRequest
    ) async -> Refusal {
        let refusal = refusal(of: error, at: .code, request)
        guard refusal.error == .invalidPassword else { return refusal }
        let type = ExactText(error.type)
        let known = provenErrors.isHarmlessAtReset(type)
        let isHarmless =
            if let known { known } else { await findWhetherHarmless(type, code: code, input, request) }
        return isHarmless ? refusal : AccountRefusals.wrongCode(error.kind)
    }

    /// Finds out whether the pool reports such a password to everybody, or only after a right code. A pool that reports
    /// it for existing users with any code reveals who exists. AWS documents no order, so the gateway tries the same
    /// password for an unknown user, and then for the same user with a wrong code. It does so once per process, so that
    /// response times reveal nothing.
    private func findWhetherHarmless(
        _ type: ExactText, code: Secret, _ input: JSONObject, _ request: AccountRequest
    ) async -> Bool {
        var nobodys = input
        for (name, value) in app.input(username: Decoy.username()) { nobodys[name] = value }
        let toNobody = await resetError(nobodys)
        guard toNobody.map({ ExactText($0.type) }) != type else { return note(type, isHarmless: true, request) }
        var wrong = input
        wrong["ConfirmationCode"] = .string(Decoy.code(otherThan: code.exposeText()))
        let toWrongCode = await resetError(wrong)
        guard let toNobody, let toWrongCode,
            Set([toNobody.kind, toWrongCode.kind]).isDisjoint(with: Self.inconclusive)
        else { return false }
        return note(type, isHarmless: ExactText(toWrongCode.type) != type, request)
    }

    /// The errors that reveal nothing about the order of the pool's checks.
    private static let inconclusive: Set<CognitoErrorKind> = [.unavailable, .throttled, .lockedOut]

    private func note(_ type: ExactText, isHarmless: Bool, _ request: AccountRequest) -> Bool {
        provenErrors.note(type, isHarmlessAtReset: isHarmless)
        if !isHarmless {
            logger.notice(
                "the user pool checks new passwords of users alone before codes; clients get a weak one as a wrong code",
                metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        }
        return isHarmless
    }

    /// Returns the error of a reset; nil if Cognito carries it out, which never happens here.
    private func resetError(_ input: JSONObject) async -> CognitoError? {
        do {
            _ = try await client.call(.confirmForgotPassword, input)
            return nil
        } catch {
            return error
        }
    }
}
