internal import Pipeline
internal import SettingsReader

extension SettingsMapping {
    /// Reads `registration_name`: the user name that a registration sends to Cognito.
    ///
    /// - Parameter names: the kinds of names that users may sign in with.
    func registrationName(names: Set<AccountNameKind>) -> RegistrationName {
        let name = value("registration_name", .oneOf, default: RegistrationName.signInName)
        if name == .generated, names.isDisjoint(with: [.email, .phoneNumber]) {
            error(
                "registration_name",
                "generated names are for users who sign in with email or phone_number: see login_with")
        }
        if name == .username, !names.contains(.username) {
            error("registration_name", "users who register with a user name must sign in with it: see login_with")
        }
        return name
    }
}
