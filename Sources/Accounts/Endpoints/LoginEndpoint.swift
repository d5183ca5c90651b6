internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

extension AccountOperation {
    package static let login = AccountOperation(
        "login", .post, budget: .signIn,
        usualErrors: [.badCredentials, .userNotConfirmed, .passwordResetRequired, .lockedOut, .throttled])
}

/// `POST login`: the configured flow, with the name as typed. A locked account, or a name of a kind that nobody may
/// sign in with, fails like a wrong password, in the same time.
struct LoginEndpoint: AccountEndpoint {
    static let operation = AccountOperation.login

    var email: String
    var password: Secret
    var rememberMe: Bool
    var device: DeviceInfo?
    /// The credentials in the device token of an earlier sign-in; nil without a valid token.
    private let knownDevice: DeviceCredentials?
    /// Whether the sign-in follows a confirmation, which may use the name that a registration generated.
    private var isNewlyConfirmed = false
    private let start: SignInStart
    private let metadata: JSON?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        var fields = try request.fields()
        start = SignInStart(&fields, accounts.settings.choice)
        call.method = start.method
        email = fields.accountName(accounts.settings.nameFields).text
        password = Secret(start.hasPassword ? fields.requiredText("password", atMost: 256, .password) : "")
        metadata = fields.clientMetadata(accounts.settings.choice.metadataKeys)
        rememberMe = fields.flag("remember_me", default: true)
        device = fields.device()
        let deviceToken = fields.optionalText("device_token", atMost: SealedText.maximumLength, .address)
        try fields.check()
        knownDevice = deviceToken.flatMap { [email] in accounts.device(in: Secret($0), of: email) }
        (call.account, call.device, call.provenDevice) = (email, device, knownDevice?.key)
    }

    /// Creates the sign-in that follows a confirmation.
    init(email: String, password: Secret, metadata: JSON?, _ call: inout AccountCall) {
        self.email = email
        self.password = password
        rememberMe = true
        (knownDevice, start, self.metadata) = (nil, .password(nil), metadata)
        isNewlyConfirmed = true
        (call.account, call.method) = (email, .password)
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let context = SignInContext(
            account: email, rememberMe: rememberMe, device: device, deviceID: device?.deviceID,
            credentials: knownDevice)
        switch start {
        case .step(let step): return try await accounts.begin(step, context, metadata, request, &admission)
        case .password(let factor):
            return try await accounts.signIn(
                with: password, as: factor, context, metadata, isNewlyConfirmed: isNewlyConfirmed, request, &admission)
        }
    }
}

extension CognitoAccounts {
    /// Signs in with a password, by the configured flow or as this factor.
    func signIn(
        with password: Secret, as factor: SignInFactor?, _ context: SignInContext, _ metadata: JSON?,
        isNewlyConfirmed: Bool = false, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        var attempt = Authenticator.Attempt(
            username: isNewlyConfirmed ? registeredName(context.account) : cognitoName(context.account),
            password: password, device: context.credentials, context: userContext(request), metadata: metadata)
        let accountGuard = flow.accountGuard
        // In flows without SRP, only earlier sign-ins show which user has this name.
        let isClosed = await accountGuard.identify(&admission, as: nil) != nil
        if isClosed {
            // Cognito counts wrong passwords too, and must not count this one against the user.
            (attempt.username, attempt.password, attempt.device) = (Decoy.username(), Decoy.password(), nil)
        }
        let answer: AuthenticationAnswer
        do throws(CognitoError) {
            answer = try await authenticator.begin(&attempt, as: factor) { username in
                if isClosed { false } else { await accountGuard.identify(&admission, as: username) != nil }
            }
        } catch {
            throw await signInRefusal(of: error, isClosed ? nil : attempt, request)
        }
        // A trigger of the pool may accept anybody.
        guard accepts(context.account) || isNewlyConfirmed && isGeneratedName(context.account), !isClosed else {
            throw AccountRefusals.wrongCredentials()
        }
        var context = context
        context.credentials = attempt.device
        return try await finish(answer, context, request)
    }

    /// Returns the device of a device token. A token that cannot be unsealed, has expired, or is another account's
    /// counts as none: the pool then treats the device as new.
    fileprivate func device(in text: Secret, of account: String) -> DeviceCredentials? {
        let device = try? SealedDevice(opening: text, with: sealingKeys, poolID: settings.poolID)
        guard let device, !device.hasExpired(at: now()),
            device.account.foldedCase.hasSameBytes(as: account.foldedCase)
        else { return nil }
        return device.credentials
    }
}
