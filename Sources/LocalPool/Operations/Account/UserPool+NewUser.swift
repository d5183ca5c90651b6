internal import Encoding

extension UserPool {
    /// A user for SignUp and AdminCreateUser, without a password.
    ///
    /// - Parameters:
    ///   - username: the name as given: the value of an attribute, or a chosen name.
    ///   - attributes: the attributes, which the client may write. Blank ones count as absent.
    /// - Throws: InvalidParameterException for a name or attribute that the pool does not accept.
    func newUser(
        named username: String, _ attributes: [(name: String, value: String)]
    ) throws(PoolError) -> UserRecord {
        let naming = configuration.naming
        let nameAttribute = try naming.attribute(named: username)
        var user = UserRecord(
            sub: uuid(), email: "", credentials: UserRecord.Credentials(passwordHash: ""), status: .unconfirmed,
            isEmailVerified: false, attributes: [:], groups: [])
        for (name, value) in attributes where !value.isEmpty {
            try configuration.schema.check(name, value, isNew: true)
            guard name != "preferred_username" || !naming.aliasAttributes.contains(name) else {
                throw .preferredUsernameTooEarly
            }
            if name == nameAttribute, value.lowercased() != username.lowercased() {
                throw .invalidParameter("Username and the \(name) attribute must be the same.")
            }
            try user.set(name, to: value)
        }
        if let nameAttribute { try user.set(nameAttribute, to: username) } else { user.chosenName = username }
        return user
    }
}

extension UserRecord {
    /// Sets an attribute of a new user.
    fileprivate mutating func set(_ name: String, to value: String) throws(PoolError) {
        guard name == "email" else {
            attributes[name] = .string(value)
            return
        }
        guard EmailAddress.isPlausible(value) else { throw .invalidParameter("Invalid email address format.") }
        email = value
    }

    /// The names of the attributes that the user has.
    var attributeNames: [String] { attributes.map(\.name) + (email.isEmpty ? [] : ["email"]) }
}
