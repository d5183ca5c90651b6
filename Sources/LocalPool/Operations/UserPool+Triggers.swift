extension UserPool {
    /// Runs a trigger for the user of this e-mail address.
    ///
    /// - Throws: UserLambdaValidationException with Cognito's message if the trigger refuses.
    func run(_ trigger: LocalPoolConfiguration.Trigger, for email: String) throws(PoolError) {
        guard let refusal = configuration.triggers[trigger],
            refusal.users.map({ $0.contains(email.lowercased()) }) ?? true
        else { return }
        throw PoolError(
            type: "UserLambdaValidationException", message: "\(trigger.name) failed with error \(refusal.message).")
    }
}
