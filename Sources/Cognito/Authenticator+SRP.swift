internal import Cryptography
internal import Encoding
internal import Pipeline

// Proof of a password, or of a device's secret, without sending it: Cognito's variant of SRP (RFC 5054).
extension Authenticator {
    /// Signs in with USER_SRP_AUTH.
    func startWithProof(
        _ attempt: Attempt, _ isClosed: ClosedCheck
    ) async throws(CognitoError) -> AuthenticationAnswer {
        let client = try srpClient()
        let answer: AuthenticationAnswer
        do {
            answer = try await initiate("USER_SRP_AUTH", parameters(of: attempt, client), attempt)
        } catch {
            if [.userNotFound, .userNotConfirmed].contains(error.kind) { await pretend(client, attempt) }
            throw error
        }
        guard case .challenge(let challenge) = answer, challenge.isNamed("PASSWORD_VERIFIER") else { return answer }
        return try await prove(attempt, challenge, client, isClosed)
    }

    /// Signs in with USER_AUTH and PASSWORD_SRP. Cognito reports account errors before anything is proven, and returns
    /// the challenge of another factor if the user has no password. Both become a wrong password, after the same number
    /// of calls.
    func startWithChosenProof(
        _ attempt: Attempt, _ isClosed: ClosedCheck
    ) async throws(CognitoError) -> AuthenticationAnswer {
        let client = try srpClient()
        var parameters = parameters(of: attempt, client)
        parameters["PREFERRED_CHALLENGE"] = .string(SignInFactor.passwordProof.rawValue)
        var answer: AuthenticationAnswer?
        do {
            answer = try await initiate("USER_AUTH", parameters, attempt)
        } catch {
            guard error.isOfAccount, error.kind != .deviceUnknown else { throw error }
        }
        guard case .challenge(let challenge)? = answer, challenge.isNamed("PASSWORD_VERIFIER") else {
            await pretend(client, attempt)
            throw CognitoError(type: "NotAuthorizedException", message: "Incorrect username or password.")
        }
        return try await prove(attempt, challenge, client, isClosed)
    }

    private func parameters(of attempt: Attempt, _ client: SRPClient) -> JSONObject {
        var parameters = parameters(of: attempt)
        parameters["SRP_A"] = .string(client.publicValue.hex)
        return parameters
    }

    private func prove(
        _ attempt: Attempt, _ challenge: AuthenticationChallenge, _ client: SRPClient, _ isClosed: ClosedCheck
    ) async throws(CognitoError) -> AuthenticationAnswer {
        guard let userID = challenge.parameters["USER_ID_FOR_SRP"]?.stringValue else {
            throw CognitoError(unavailable: "UnexpectedChallenge")
        }
        let isClosed = await isClosed(challenge.username ?? userID)
        let proof = try proof(
            of: isClosed ? Decoy.password() : attempt.password,
            identity: SRPIdentity(poolID: app.poolID, userID: userID), challenge, client)
        return try await send(
            Response(
                challenge: "PASSWORD_VERIFIER", session: challenge.session?.exposeText(),
                username: challenge.username ?? userID, answers: proof, device: attempt.device,
                context: attempt.context, metadata: attempt.metadata))
    }

    /// Answers DEVICE_SRP_AUTH and DEVICE_PASSWORD_VERIFIER.
    func proveDevice(
        _ device: DeviceCredentials, _ challenge: AuthenticationChallenge, username: String, context: JSON?,
        metadata: JSON?
    ) async throws(CognitoError) -> AuthenticationAnswer {
        let client = try srpClient()
        var response = Response(
            challenge: challenge.name, session: challenge.session?.exposeText(), username: username,
            answers: ["SRP_A": .string(client.publicValue.hex)], device: device, context: context,
            metadata: metadata)
        guard case .challenge(let verifier) = try await send(response), verifier.isNamed("DEVICE_PASSWORD_VERIFIER")
        else { throw CognitoError(unavailable: "UnexpectedChallenge") }
        response.challenge = verifier.name
        response.session = verifier.session?.exposeText()
        response.username = verifier.username ?? username
        response.answers = try proof(
            of: device.password, identity: SRPIdentity(deviceGroupKey: device.groupKey, deviceKey: device.key),
            verifier, client)
        return try await send(response)
    }

    private func srpClient() throws(CognitoError) -> SRPClient {
        do {
            return try SRPClient(random: random(128))
        } catch {
            throw CognitoError(unavailable: "ProofFailed")
        }
    }

    /// Returns the members of the response to a verifier challenge.
    private func proof(
        of password: Secret, identity: SRPIdentity, _ challenge: AuthenticationChallenge, _ client: SRPClient
    ) throws(CognitoError) -> JSONObject {
        guard let salt = challenge.parameters["SALT"]?.stringValue.flatMap({ SRPNumber(hex: $0) }),
            let serverValue = challenge.parameters["SRP_B"]?.stringValue.flatMap({ SRPNumber(hex: $0) }),
            let block = challenge.parameters["SECRET_BLOCK"]?.stringValue, let bytes = Base64.decode(block.utf8)
        else { throw CognitoError(unavailable: "UnexpectedChallenge") }
        let timestamp = SRPTimestamp.text(at: now())
        let signature: [UInt8]
        do {
            signature = try client.signature(
                identity: identity, password: password, salt: salt, serverPublicValue: serverValue, secretBlock: bytes,
                timestamp: timestamp)
        } catch {
            throw CognitoError(unavailable: "ProofFailed")
        }
        return [
            "PASSWORD_CLAIM_SIGNATURE": .string(Base64.encode(signature)),
            "PASSWORD_CLAIM_SECRET_BLOCK": .string(block), "TIMESTAMP": .string(timestamp),
        ]
    }

    /// Computes and sends a decoy second step. Some pools report an unknown or unconfirmed user in the first step; a
    /// missing second step would reveal that to the client.
    private func pretend(_ client: SRPClient, _ attempt: Attempt) async {
        let challenge = AuthenticationChallenge(
            name: "PASSWORD_VERIFIER", session: nil,
            parameters: [
                "SALT": .string(SRPNumber(random(16)).hex), "SRP_B": .string(client.publicValue.hex),
                "SECRET_BLOCK": .string(Base64.encode(random(1024))),
            ])
        let identity = SRPIdentity(poolID: app.poolID, userID: attempt.username)
        guard let proof = try? proof(of: attempt.password, identity: identity, challenge, client) else { return }
        // The result is ignored: the caller already has the error to report.
        _ = try? await send(
            Response(
                challenge: challenge.name, session: nil, username: attempt.username, answers: proof,
                context: attempt.context))
    }
}
