internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline
internal import Sealing

extension CognitoAccounts {
    /// Calls Cognito for an endpoint and translates its error into that endpoint's refusal.
    func call(
        _ operation: CognitoOperation, _ input: JSONObject, for request: AccountRequest, at stage: CallStage
    ) async throws(Refusal) -> JSONObject {
        do {
            return try await client.call(operation, input)
        } catch {
            throw refusal(of: error, at: stage, request)
        }
    }

    /// Returns the refusal for an error of Cognito's and logs what the operator must correct.
    func refusal(of error: CognitoError, at stage: CallStage, _ request: AccountRequest) -> Refusal {
        let rules = AccountRefusals.Rules(
            conceals: settings.concealsExistingUsers, showsTriggerMessages: settings.triggerRefusals.showsMessages)
        let refusal = AccountRefusals.refusal(error, at: stage, rules)
        report(error, request, isOurs: refusal.error == .identityProviderUnavailable)
        return refusal
    }

    /// Returns the refusal for an error of SignUp. An error about a field is a 422 with that field; the operator's log
    /// has the setting that decides it.
    ///
    /// - Parameters:
    ///   - names: the names that the request registers.
    ///   - hasAttributes: whether it has other attributes.
    func refusal(
        of error: CognitoError, registering names: RegisteredName, hasAttributes: Bool, _ request: AccountRequest
    ) -> Refusal {
        guard let fault = RegistrationFault(error, names, hasAttributes: hasAttributes) else {
            return refusal(of: error, at: .registration, request)
        }
        logger.warning(
            "Cognito refuses a registration; check the setting",
            metadata: [
                "operation": "\(request.operation.name)", "request_id": "\(request.requestID)",
                "pool_id": "\(settings.poolID)", "error": "\(error.type)", "setting": "\(fault.setting)",
                "fields": "\(fault.fields.keys.map(\.text).sorted().joined(separator: ", "))",
            ])
        return Refusal(.invalidParameter, fields: fault.fields, reason: .cognito(.invalidParameter))
    }

    /// Logs errors that the operator must correct. Users' errors are in the access log.
    private func report(_ error: CognitoError, _ request: AccountRequest, isOurs: Bool) {
        var metadata: Logger.Metadata = [
            "operation": "\(request.operation.name)", "request_id": "\(request.requestID)",
            "pool_id": "\(settings.poolID)", "error": "\(error.type)", "reason": "\(error.kind.rawValue)",
        ]
        if error.kind == .signUpNotPermitted, let setting = error.kind.guiltySetting {
            metadata["setting"] = "\(setting)"
            logger.warning("Cognito does not permit registrations; check the setting", metadata: metadata)
        } else if isOurs, let setting = error.kind.guiltySetting {
            metadata["setting"] = "\(setting)"
            logger.error("Cognito refuses the gateway; check the setting", metadata: metadata)
        } else if [.unavailable, .other, .throttled, .deliveryFailed].contains(error.kind) {
            logger.warning("a call to Cognito failed", metadata: metadata)
        }
    }

    /// Returns the refusal for a response of Cognito's that the gateway cannot use.
    func unusable(_ what: String, _ request: AccountRequest) -> Refusal {
        refusal(of: CognitoError(unavailable: what), at: .signIn, request)
    }

    /// Returns the user's address for Cognito's threat protection; nil if the settings do not allow to pass it on.
    func userContext(_ request: AccountRequest) -> JSON? {
        settings.propagateClientAddress ? ["IpAddress": .string(request.clientAddress)] : nil
    }

    /// Seals a value that the client, or the store, keeps.
    ///
    /// - Throws: 500 if it cannot be sealed.
    func sealing<Sealed>(
        _ request: AccountRequest, _ seal: () throws(SealingFailure) -> Sealed
    ) throws(Refusal) -> Sealed {
        do {
            return try seal()
        } catch {
            logger.error("a token could not be sealed", metadata: ["request_id": "\(request.requestID)"])
            throw Refusal(.internalFailure, reason: .account(.sealingFailed))
        }
    }

    /// Accesses the session records.
    func withRecords<Value>(
        _ request: AccountRequest, _ work: () async throws -> Value
    ) async throws(Refusal) -> Value {
        try await usingRecords(request.requestID, logger, work)
    }

    /// Returns the revocations that end sign-ins of a user: one for each or, after many, one for all up to the newest.
    ///
    /// - Parameters:
    ///   - origins: the `origin_jti` of each sign-in.
    ///   - newest: the time of the newest sign-in, in seconds since 1970.
    ///   - own: the `origin_jti` of a sign-in that a revocation of all excludes.
    func targets(
        for origins: Set<String>, of subject: String?, signedInUntil newest: Int64?, sparing own: String? = nil
    ) -> [Revocation.Target] {
        guard let subject, let newest else { return origins.sorted().map(Revocation.Target.originID) }
        let now = revocationTime()
        return singlyRevoked.targets(
            for: origins, of: subject, signedInUntil: newest, sparing: own,
            until: now + CognitoSignInSettings.longestAccessToken, at: now)
    }

    /// Puts tokens of the pool on the revocation list for the longest lifetime of an access token.
    func revoke(_ targets: [Revocation.Target], _ request: AccountRequest) async throws(Refusal) {
        try await revoke(targets, until: revocationTime() + CognitoSignInSettings.longestAccessToken, request)
    }

    /// Puts tokens of the pool on the revocation list.
    ///
    /// - Parameter endsAt: the time at which none of them can be valid any more, in seconds since 1970.
    /// - Throws: 503 if the list cannot be written.
    func revoke(
        _ targets: [Revocation.Target], until endsAt: Int64, _ request: AccountRequest
    ) async throws(Refusal) {
        let revocations = targets.map { Revocation(issuer: settings.issuer, $0, endsAt: endsAt) }
        guard !revocations.isEmpty else { return }
        do {
            try await revoke(revocations)
        } catch {
            logger.error(
                "tokens could not be put on the revocation list",
                metadata: ["request_id": "\(request.requestID)", "error": "\(error)"])
            throw Self.notRevoked
        }
    }

    static var notRevoked: Refusal { .retryLater(.serviceUnavailable, after: 5, reason: .account(.notRevoked)) }

    /// Runs both operations, the second even if the first fails.
    ///
    /// - Throws: the first operation's error, or else the second's.
    func both(
        _ first: () async throws(Refusal) -> Void, then second: () async throws(Refusal) -> Void
    ) async throws(Refusal) {
        do {
            try await first()
        } catch {
            try? await second()
            throw error
        }
        try await second()
    }
}
