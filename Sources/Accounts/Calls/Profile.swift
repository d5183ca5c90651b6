internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `GET me`: asks Cognito, so that a revoked token and changed attributes are seen at once.
    func me(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let user = try await user(caller, request)
        return AccountAnswer(.ok, user.object, subject: user.id)
    }

    /// `PATCH me`: UpdateUserAttributes, then the user as it is now.
    func update(_ body: UpdateBody, _ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer
    {
        if !body.attributes.isEmpty {
            var input = caller.input
            input["UserAttributes"] = .array(body.attributes.map(\.json))
            _ = try await call(.updateUserAttributes, input, for: request, at: .bearer)
        }
        return try await me(caller, request)
    }

    /// `DELETE me`: gone at Cognito first, so that nothing here is forgotten of a user who still is; then every session
    /// and token ends.
    ///
    /// Each step can be repeated with the same access token until the last one is done. A user whom Cognito does not know
    /// any more is deleted: an earlier attempt's response may have been lost.
    func delete(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        do {
            _ = try await client.call(.deleteUser, caller.input)
        } catch {
            guard error.kind == .userNotFound else { throw refusal(of: error, at: .bearer, request) }
        }
        try await kept(request) { try await sessions.forget(caller.subject) }
        var answer = AccountAnswer.done(subject: caller.subject)
        // The same name, registered again, has another subject: all tokens of this one count no more, for ever.
        answer.lastStep = { () async throws(Refusal) in
            try await revoke([.subject(caller.subject, before: .max)], request)
        }
        return answer
    }

    /// `GET me/export`: everything that is held about the user, here and at Cognito.
    func export(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let user = try await user(caller, request)
        let held = try await kept(request) { try await sessions.held(of: caller.subject) }
        var export: JSONObject = [
            "exported_at": .string(Timestamp.text(now())), "user": .object(user.object),
            "sessions": .array(held.map { .object($0.exported) }),
            "devices": .array(try await devices(caller, request)),
        ]
        for observer in observers {
            for (name, value) in try await observer.held(about: caller.subject, poolID: settings.poolID) {
                export[name] = value
            }
        }
        return AccountAnswer(.ok, export, subject: user.id)
    }

    private func devices(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> [JSON] {
        do {
            return try await client.call(.listDevices, caller.input)["Devices"]?.arrayValue ?? []
        } catch {
            switch error.kind {
            // A pool that tracks none says so in one of these ways.
            case .invalidParameter, .poolMisconfigured, .unsupportedOperation, .clientUnknown, .deviceUnknown: return []
            default: throw refusal(of: error, at: .bearer, request)
            }
        }
    }

    func user(_ caller: Caller, _ request: AccountRequest) async throws(Refusal) -> AccountUser {
        let output = try await call(.getUser, caller.input, for: request, at: .bearer)
        guard let user = AccountUser(output: output, groups: caller.identity.groups) else {
            throw unusable("UnreadableUser", request)
        }
        return user
    }
}
