internal import Encoding
internal import GRDB
internal import Logging
internal import Store

extension UserPool {
    /// "Sends" the message: to the inbox and the log.
    func deliver(_ message: Message, in database: Database, now: Int64) throws {
        try message.insert(in: database, now: now)
        // This log is a mailbox: developers have no other way to receive a code.
        logger.notice(
            "confirmation code",
            metadata: ["\(message.medium.attribute)": "\(message.address)", "code": "\(message.code)"])
    }

    /// Sends a new code for `purpose`, which replaces an earlier one.
    ///
    /// - Parameter pending: the address that the code verifies; nil: the user's current one.
    func sendCode(
        _ purpose: ConfirmationCode.Purpose, to user: UserRecord, at pending: String? = nil, in database: Database,
        now: Int64
    ) throws -> Message {
        try run(.customMessage, for: user.email)
        let code = ConfirmationCode.make(from: random(8))
        let lifetimes = configuration.lifetimes
        let lifetime = purpose == .passwordReset ? lifetimes.passwordResetCode : lifetimes.confirmationCode
        try ConfirmationCode.store(
            code, purpose, of: user.sub, value: pending, in: database, expires: now + lifetime)
        let medium = medium(of: purpose, user)
        let message = Message(
            medium: medium, address: pending ?? (medium == .sms ? user.phoneNumber ?? "" : user.email),
            purpose: purpose.rawValue, code: code)
        try deliver(message, in: database, now: now)
        return message
    }

    private func medium(of purpose: ConfirmationCode.Purpose, _ user: UserRecord) -> Message.Medium {
        switch purpose {
        case .phoneNumber: .sms
        case .email: .email
        case .signUp: signUpMedium(of: user) ?? .email
        case .passwordReset: user.resetMedium ?? .email
        }
    }

    /// The medium for the code of a sign-up; nil for a user without an address. A telephone number is preferred if the
    /// pool's users have it as a name, as at Cognito with both addresses verified.
    func signUpMedium(of user: UserRecord) -> Message.Medium? {
        let naming = configuration.naming
        let names = naming.usernameAttributes + naming.aliasAttributes
        if user.phoneNumber != nil, names.contains("phone_number") || user.email.isEmpty { return .sms }
        return user.email.isEmpty ? nil : .email
    }

    /// The part of a response that describes a sent code.
    static func delivery(_ message: Message) -> JSONObject {
        ["CodeDeliveryDetails": .object(message.deliveryDetails)]
    }

    /// The same for an unknown user: as if a code had been sent to the address in the request, or to a constant fake
    /// address.
    func pretendedDelivery(to username: String) -> JSONObject {
        let medium: Message.Medium = UserAttribute.isPhoneNumber(username) ? .sms : .email
        let address = pretendedAddress(of: username, medium)
        return Self.delivery(Message(medium: medium, address: address, purpose: "", code: ""))
    }

    /// The address of an unknown user: the user name if it is an address, otherwise a constant fake one.
    func pretendedAddress(of username: String, _ medium: Message.Medium) -> String {
        let sub = Pretence(username: username.lowercased(), key: pretenceKey).sub
        switch medium {
        case .email:
            return EmailAddress.isPlausible(username) ? username : "\(sub.prefix(1))@\(sub.suffix(1)).invalid"
        case .sms:
            let digits = sub.utf8.suffix(4).map { String($0 % 10) }.joined()
            return UserAttribute.isPhoneNumber(username) ? username : "+1555555\(digits)"
        }
    }

    /// Counts a request of `who`; returns the error if the limit is exceeded.
    func exceeded(_ limit: HourlyLimit, _ who: String, in database: Database, now: Int64) throws -> PoolError? {
        guard configuration.hasHourlyLimits else { return nil }
        return try limit.allows(who, in: database, now: now) ? nil : .limitExceeded
    }
}
