package import Encoding
internal import Logging
internal import NIOCore
internal import Store

extension UserPool {
    /// The caller: anyone, or a caller who signed with the administrator's key.
    package enum Caller: Sendable {
        case anyone, administrator
    }

    typealias Operation = @Sendable (UserPool) -> @Sendable (JSONObject) async throws -> JSONObject

    /// The operations that anyone may call.
    static let clientOperations: [String: Operation] = [
        "SignUp": UserPool.signUp, "ConfirmSignUp": UserPool.confirmSignUp,
        "ResendConfirmationCode": UserPool.resendConfirmationCode,
        "InitiateAuth": UserPool.initiateAuth, "RespondToAuthChallenge": UserPool.respondToAuthChallenge,
        "GetTokensFromRefreshToken": UserPool.getTokensFromRefreshToken, "RevokeToken": UserPool.revokeToken,
        "GlobalSignOut": UserPool.globalSignOut, "GetUser": UserPool.getUser, "DeleteUser": UserPool.deleteUser,
        "ForgotPassword": UserPool.forgotPassword, "ConfirmForgotPassword": UserPool.confirmForgotPassword,
        "ChangePassword": UserPool.changePassword, "UpdateUserAttributes": UserPool.updateUserAttributes,
        "DeleteUserAttributes": UserPool.deleteUserAttributes,
        "GetUserAttributeVerificationCode": UserPool.getUserAttributeVerificationCode,
        "VerifyUserAttribute": UserPool.verifyUserAttribute,
        "AssociateSoftwareToken": UserPool.associateSoftwareToken,
        "VerifySoftwareToken": UserPool.verifySoftwareToken,
        "SetUserMFAPreference": UserPool.setUserMFAPreference,
        "ConfirmDevice": UserPool.confirmDevice, "ForgetDevice": UserPool.forgetDevice,
        "GetDevice": UserPool.getDevice, "ListDevices": UserPool.listDevices,
        "UpdateDeviceStatus": UserPool.updateDeviceStatus,
        "StartWebAuthnRegistration": UserPool.startWebAuthnRegistration,
        "CompleteWebAuthnRegistration": UserPool.completeWebAuthnRegistration,
        "ListWebAuthnCredentials": UserPool.listWebAuthnCredentials,
        "DeleteWebAuthnCredential": UserPool.deleteWebAuthnCredential,
        "GetUserAuthFactors": UserPool.getUserAuthFactors,
    ]

    /// The operations that an administrator may call, with the pool's id.
    static let administratorOperations: [String: Operation] = [
        "AdminInitiateAuth": UserPool.adminInitiateAuth,
        "AdminRespondToAuthChallenge": UserPool.respondToAuthChallenge,
        "AdminCreateUser": UserPool.adminCreateUser, "AdminGetUser": UserPool.adminGetUser,
        "AdminConfirmSignUp": UserPool.adminConfirmSignUp, "AdminDeleteUser": UserPool.adminDeleteUser,
        "AdminEnableUser": UserPool.adminEnableUser, "AdminDisableUser": UserPool.adminDisableUser,
        "AdminSetUserPassword": UserPool.adminSetUserPassword,
        "AdminResetUserPassword": UserPool.adminResetUserPassword,
        "AdminUserGlobalSignOut": UserPool.adminUserGlobalSignOut,
        "AdminUpdateUserAttributes": UserPool.adminUpdateUserAttributes,
        "AdminSetUserMFAPreference": UserPool.adminSetUserMFAPreference,
        "AdminAddUserToGroup": UserPool.adminAddUserToGroup,
        "AdminRemoveUserFromGroup": UserPool.adminRemoveUserFromGroup,
        "AdminListGroupsForUser": UserPool.adminListGroupsForUser, "ListUsers": UserPool.listUsers,
        "CreateGroup": UserPool.createGroup, "GetGroup": UserPool.getGroup, "UpdateGroup": UserPool.updateGroup,
        "DeleteGroup": UserPool.deleteGroup, "ListGroups": UserPool.listGroups,
        "ListUsersInGroup": UserPool.listUsersInGroup,
        "CreateUserPoolClient": UserPool.createUserPoolClient,
        "DescribeUserPoolClient": UserPool.describeUserPoolClient,
        "UpdateUserPoolClient": UserPool.updateUserPoolClient,
        "DeleteUserPoolClient": UserPool.deleteUserPoolClient,
        "ListUserPoolClients": UserPool.listUserPoolClients,
        "DescribeUserPool": UserPool.describeUserPool, "GetUserPoolMfaConfig": UserPool.getUserPoolMfaConfig,
        "SetUserPoolMfaConfig": UserPool.setUserPoolMfaConfig,
    ]

    /// Whether the operation must be signed.
    static func isForAdministrator(_ operation: String) -> Bool {
        administratorOperations[operation] != nil
    }

    /// Executes the operation called `operation`.
    ///
    /// - Throws: UnknownOperationException for an unknown operation, the operation's own errors, or
    ///   InternalErrorException with the cause in the log.
    package func answer(
        _ operation: String, _ request: JSONObject, by caller: Caller = .anyone
    ) async throws(PoolError) -> JSONObject {
        do {
            try checkUserContext(RequestFields(object: request))
            if let body = Self.clientOperations[operation] {
                guard operation != "GetTokensFromRefreshToken" || configuration.hasGetTokensFromRefreshToken else {
                    throw PoolError.unknownOperation(operation)
                }
                return try await body(self)(request)
            }
            guard let body = Self.administratorOperations[operation] else {
                throw PoolError.unknownOperation(operation)
            }
            guard caller == .administrator else {
                throw PoolError(type: "MissingAuthenticationTokenException", message: "Missing Authentication Token")
            }
            try checkPool(RequestFields(object: request))
            return try await body(self)(request)
        } catch let error as PoolError {
            throw error
        } catch {
            // GRDB's errors hold the statement without its arguments, and OpenSSL's only the step: no values.
            logger.error("an operation failed", metadata: ["operation": "\(operation)", "error": "\(error)"])
            throw .internalError
        }
    }

    /// The messages to this e-mail address or telephone number, newest last: a list of `{email | phone, purpose, code,
    /// sent_at}`.
    func inbox(of address: String) async throws -> JSON {
        try await store.read { try Message.inbox(of: address, in: $0) }
    }

    private func checkPool(_ fields: RequestFields) throws(PoolError) {
        let id = try fields.required("UserPoolId", maximum: 55)
        guard id == configuration.poolID else {
            throw PoolError(type: "ResourceNotFoundException", message: "User pool \(id) does not exist.")
        }
    }

    /// Accepts UserContextData where the model has it; Cognito requires an IP address in it.
    private func checkUserContext(_ fields: RequestFields) throws(PoolError) {
        for name in ["UserContextData", "ContextData"] {
            guard let address = try fields.structure(name).optional("IpAddress") else { continue }
            guard (try? SocketAddress(ipAddress: address, port: 0)) != nil else {
                throw .invalidParameter("Invalid IP address: \(address)")
            }
        }
    }
}
