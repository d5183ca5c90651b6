internal import Pipeline

/// Decisions about account calls by the reason of their refusal. A new error of accounts or of Cognito does not compile
/// until it is decided whether it is a guess, whether it reports a lock, and what it means for a session.
extension Reason {
    /// Returns whether the refusal is for a wrong password or second factor, or must look like one, and counts as a
    /// failure.
    ///
    /// - Parameter error: the error that the client got.
    func isGuess(refusedWith error: GatewayError) -> Bool {
        switch self {
        case .cognito(let kind): kind.isGuess(refusedWith: error)
        case .account(let error): error.isGuess
        case .request, .http1, .path, .token, .policy, .webSocket, .upstream, .limit, .apple, .appleClient: false
        }
    }

    /// Whether Cognito has refused a password.
    var isOfPassword: Bool { self == .cognito(.badCredentials) }

    /// Whether the account is locked, here or at Cognito.
    var isLock: Bool {
        switch self {
        case .cognito(let kind): kind.isLock
        case .limit(.lockout): true
        case .limit(.address), .limit(.account), .limit(.global): false
        case .request, .http1, .path, .token, .policy, .webSocket, .upstream, .account, .apple, .appleClient: false
        }
    }

    /// Whether the request was malformed, and therefore never tried.
    var isOfMalformedBody: Bool {
        switch self {
        case .account(let error): error.isOfMalformedBody
        case .request(let error): error.isOfMalformedBody
        case .http1, .path, .token, .policy, .webSocket, .upstream, .limit, .cognito, .apple, .appleClient: false
        }
    }

    /// The meaning of a refused refresh or sign-out for the token's session.
    enum OfSession {
        /// The session's lifetime is over.
        case expired
        /// The session was unused for too long.
        case idle
        /// An older token of the session was used: somebody else may have one.
        case reused
        /// A device other than the session's has used its token.
        case usedByOtherDevice
        /// The session was ended, or its user was deleted.
        case ended
    }

    /// nil if the refusal says nothing about the session.
    var ofSession: OfSession? {
        switch self {
        case .account(let error): error.ofSession
        case .cognito(let kind): kind.ofSession
        case .token(let reason): reason.ofSession
        case .request, .http1, .path, .policy, .webSocket, .upstream, .limit, .apple, .appleClient: nil
        }
    }
}

extension RequestFault {
    fileprivate var isOfMalformedBody: Bool {
        switch self {
        case .bodyTooLarge: true
        case .tokenMissing, .repeatedAuthorization, .repeatedToken, .crossSiteRequest, .noRoute, .hostNotServed,
            .methodNotAllowed, .keysUnavailable, .revocationsUnavailable, .attributesUnavailable, .identityTooLarge,
            .directCognito, .clientDisconnected,
            .requestTimeout, .requestTooSlow, .crossOriginNotAllowed, .overloaded, .overloadedAddress,
            .addressNotAllowed,
            .rateLimited, .proxyNotTrusted, .originalRequestUnclear, .overrideHeader, .notDecided,
            .webSocketHandshake, .webSocketVersion, .webSocketNotServed, .assertionNotSigned,
            .endpointWithoutService, .routeWithoutUpstream, .userSyncFailed, .invalidParameter:
            false
        }
    }
}

extension RejectReason {
    fileprivate var ofSession: Reason.OfSession? {
        switch self {
        case .revoked: .ended
        // An access token expires before its session ends.
        case .expired: nil
        case .tokenTooLarge, .malformedToken, .malformedHeader, .malformedPayload, .algorithmNotAllowed, .keyIDInvalid,
            .criticalHeader, .unencodedPayload, .keyInHeader, .typeNotAllowed, .issuerInvalid, .unknownIssuer,
            .issuerNotAccepted, .unknownKey, .badSignature, .expiryInvalid, .notBeforeInvalid, .notYetValid,
            .issuedAtInvalid, .issuedInFuture, .tokenUseInvalid, .tokenUseNotAccepted, .clientNotAllowed,
            .audienceNotAllowed, .subjectInvalid, .claimMissing:
            nil
        }
    }
}

extension AccountError {
    fileprivate var isGuess: Bool {
        switch self {
        case .userDisabled: true
        case .invalidFields, .malformedJSON, .contentType, .notAnAccessToken, .invalidRefreshToken,
            .expiredRefreshToken, .refreshTokenReused, .refreshUnderWay, .sessionEnded, .otherDevice,
            .invalidChallengeSession, .expiredChallengeSession, .sessionRecordsUnavailable, .sealingFailed,
            .notRevoked, .attributeNotWritable, .notASession, .sessionTooOld, .sessionIdle, .sessionKeysUnavailable,
            .sessionNotSigned, .unknownSession,
            .roleConflict,
            .oauthParameters, .oauthGrantType, .oauthClient, .redirectURI, .hostedSignInEnded,
            .hostedSignInRefused, .hostedTokens, .invalidAuthorizationCode, .authorizationCodeReused,
            .unsupportedChallenge:
            false
        }
    }

    fileprivate var isOfMalformedBody: Bool {
        switch self {
        case .invalidFields, .malformedJSON, .contentType, .oauthParameters, .oauthGrantType: true
        case .notAnAccessToken, .invalidRefreshToken, .expiredRefreshToken, .refreshTokenReused, .refreshUnderWay,
            .sessionEnded, .otherDevice, .invalidChallengeSession, .expiredChallengeSession, .sessionRecordsUnavailable,
            .sealingFailed, .notRevoked, .attributeNotWritable, .notASession, .sessionTooOld, .sessionIdle,
            .sessionKeysUnavailable, .sessionNotSigned, .unknownSession, .roleConflict, .userDisabled,
            .oauthClient, .redirectURI, .hostedSignInEnded, .hostedSignInRefused, .hostedTokens,
            .invalidAuthorizationCode, .authorizationCodeReused, .unsupportedChallenge:
            false
        }
    }

    fileprivate var ofSession: Reason.OfSession? {
        switch self {
        case .expiredRefreshToken, .sessionTooOld: .expired
        case .sessionIdle: .idle
        case .refreshTokenReused: .reused
        case .otherDevice: .usedByOtherDevice
        case .sessionEnded: .ended
        case .malformedJSON, .contentType, .invalidFields, .notAnAccessToken, .invalidRefreshToken, .refreshUnderWay,
            .invalidChallengeSession, .expiredChallengeSession, .sessionRecordsUnavailable, .sealingFailed,
            .notRevoked, .attributeNotWritable, .notASession, .sessionKeysUnavailable, .sessionNotSigned,
            .unknownSession, .roleConflict, .userDisabled,
            .oauthParameters, .oauthGrantType, .oauthClient, .redirectURI, .hostedSignInEnded,
            .hostedSignInRefused, .hostedTokens, .invalidAuthorizationCode, .authorizationCodeReused,
            .unsupportedChallenge:
            nil
        }
    }
}

extension CognitoErrorKind {
    fileprivate var isLock: Bool {
        switch self {
        case .lockedOut: true
        case .badCredentials, .userNotFound, .userNotConfirmed, .passwordResetRequired, .userDisabled,
            .temporaryPasswordExpired, .usernameExists, .alreadyConfirmed, .invalidPassword, .codeMismatch,
            .codeExpired, .deliveryFailed, .secondFactorMissing, .deviceUnknown, .invalidSession, .tokenRevoked,
            .tokenExpired, .scopeMissing, .tokenReused, .clientSecretRefused, .clientUnknown, .signatureRefused,
            .credentialsMissing, .flowNotEnabled, .poolMisconfigured, .blockedByFirewall, .rejectedByTrigger,
            .throttled, .unsupportedOperation, .signUpNotPermitted, .invalidParameter, .unavailable, .other:
            false
        }
    }

    fileprivate func isGuess(refusedWith error: GatewayError) -> Bool {
        switch self {
        case .badCredentials, .userNotFound, .codeMismatch: true
        // If they look like a wrong password, they also lock like one.
        case .userNotConfirmed, .passwordResetRequired, .userDisabled, .temporaryPasswordExpired, .rejectedByTrigger,
            .lockedOut:
            error == .notAuthorized
        case .usernameExists, .alreadyConfirmed, .invalidPassword, .codeExpired,
            .deliveryFailed, .secondFactorMissing, .deviceUnknown, .invalidSession, .tokenRevoked, .tokenExpired,
            .scopeMissing, .tokenReused, .clientSecretRefused, .clientUnknown, .signatureRefused,
            .credentialsMissing, .flowNotEnabled, .poolMisconfigured, .blockedByFirewall, .throttled,
            .unsupportedOperation, .signUpNotPermitted, .invalidParameter, .unavailable, .other:
            false
        }
    }

    fileprivate var ofSession: Reason.OfSession? {
        switch self {
        case .tokenExpired: .expired
        case .tokenReused: .reused
        case .tokenRevoked, .badCredentials, .userNotFound: .ended
        case .userNotConfirmed, .passwordResetRequired, .userDisabled, .temporaryPasswordExpired, .scopeMissing,
            .usernameExists, .alreadyConfirmed, .invalidPassword, .codeMismatch, .codeExpired, .deliveryFailed,
            .secondFactorMissing, .deviceUnknown, .lockedOut, .invalidSession, .clientSecretRefused, .clientUnknown,
            .signatureRefused,
            .credentialsMissing, .flowNotEnabled, .poolMisconfigured, .blockedByFirewall, .rejectedByTrigger,
            .signUpNotPermitted, .throttled, .unsupportedOperation, .invalidParameter, .unavailable, .other:
            nil
        }
    }
}
