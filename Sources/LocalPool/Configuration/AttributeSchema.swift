internal import Encoding

extension LocalPoolConfiguration {
    /// The attributes of the pool's users (Cognito's Schema).
    package struct AttributeSchema: Sendable {
        package struct Attribute: Sendable, Equatable {
            package enum Kind: String, Sendable, CaseIterable {
                case string = "String"
                case number = "Number"
                case dateTime = "DateTime"
                case boolean = "Boolean"
            }

            /// Custom attributes have the prefix `custom:`.
            package var name: String
            package var kind = Kind.string
            /// Whether the attribute is required at sign-up.
            package var isRequired = false
            /// Whether the attribute can be changed after the user was created.
            package var isMutable = true
            /// The limits on the length of a text in characters, or on the value of a number.
            package var minimum: Int64?
            package var maximum: Int64?

            package init(_ name: String) {
                self.name = name
            }
        }

        /// The attributes that differ from Cognito's defaults, and the custom ones.
        package var attributes: [Attribute] = []
        /// Whether only the custom attributes in ``attributes`` exist. Otherwise any custom attribute does.
        package var isClosed = false

        package init() {}

        /// The definition of the attribute; nil if the pool does not have it.
        subscript(name: String) -> Attribute? {
            if let defined = attributes.first(where: { $0.name == name }) { return defined }
            guard UserAttribute.isKnown(name), !isClosed || !name.hasPrefix("custom:") else { return nil }
            var attribute = Attribute(name)
            if name == "updated_at" { attribute.kind = .number }
            return attribute
        }

        var required: [String] { attributes.filter(\.isRequired).map(\.name) }
    }
}

extension LocalPoolConfiguration.AttributeSchema {
    /// Checks whether a user may have this value. An empty value counts as absent.
    ///
    /// - Parameter isNew: whether the user is being created.
    /// - Throws: InvalidParameterException if not; NotAuthorizedException for an attribute that only the pool sets.
    func check(_ name: String, _ value: String, isNew: Bool) throws(PoolError) {
        guard let attribute = self[name] else {
            throw Self.nonconforming("Type for attribute {\(name)} could not be determined")
        }
        try UserAttribute.check(name, value)
        guard isNew || attribute.isMutable else {
            throw .invalidParameter("user.\(name): Attribute cannot be updated.\n")
        }
        if !value.isEmpty, let violation = attribute.violation(value) {
            throw Self.nonconforming("\(Self.schemaName(name)): \(violation)\n")
        }
    }

    /// The reason why a configured user cannot have this value; nil if it is valid.
    func error(_ name: String, _ value: String) -> String? {
        guard let attribute = self[name] else { return "the pool has no such attribute" }
        return attribute.violation(value)
    }

    /// - Throws: InvalidParameterException with the required attributes that are missing from `names`.
    func checkComplete(_ names: some Sequence<String>) throws(PoolError) {
        let missing = Set(required).subtracting(names).sorted().map(Self.schemaName)
        guard !missing.isEmpty else { return }
        throw Self.nonconforming(missing.map { "\($0): The attribute \($0) is required\n" }.joined())
    }

    private static func nonconforming(_ reason: String) -> PoolError {
        .invalidParameter("Attributes did not conform to the schema: \(reason)")
    }

    /// The attribute's name in Cognito's messages; some are the SCIM names (RFC 7643, 4.1).
    private static func schemaName(_ name: String) -> String { schemaNames[name] ?? name }

    private static let schemaNames = [
        "address": "addresses", "email": "emails", "family_name": "name.familyName", "given_name": "name.givenName",
        "middle_name": "name.middleName", "name": "name.formatted", "nickname": "nickName",
        "phone_number": "phoneNumbers", "preferred_username": "preferredUsername",
    ]
}

extension LocalPoolConfiguration.AttributeSchema.Attribute {
    /// The reason why the attribute cannot have this value; nil if it is valid.
    func violation(_ value: String) -> String? {
        switch kind {
        case .string:
            let count = Int64(value.unicodeScalars.count)
            if let minimum, count < minimum { return "String must be longer than \(minimum - 1) characters" }
            if let maximum, count > maximum { return "String must be shorter than \(maximum + 1) characters" }
        case .number:
            guard let number = Int64(value) else { return "Value must be a number" }
            if let minimum, number < minimum { return "Number must be at least \(minimum)" }
            if let maximum, number > maximum { return "Number must be at most \(maximum)" }
        case .boolean:
            if value != "true", value != "false" { return "Value must be true or false" }
        case .dateTime: break
        }
        return nil
    }

    /// The JSON form in DescribeUserPool and CreateUserPool.
    var json: JSON {
        var json: JSONObject = [
            "Name": .string(name), "AttributeDataType": .string(kind.rawValue), "DeveloperOnlyAttribute": false,
            "Mutable": .bool(isMutable), "Required": .bool(isRequired),
        ]
        switch kind {
        case .string: json["StringAttributeConstraints"] = constraints("Length", (0, 2048))
        case .number: json["NumberAttributeConstraints"] = constraints("Value", (0, nil))
        case .boolean, .dateTime: break
        }
        return .object(json)
    }

    private func constraints(_ what: String, _ standard: (minimum: Int64, maximum: Int64?)) -> JSON {
        var json: JSONObject = ["Min\(what)": .string(String(minimum ?? standard.minimum))]
        json["Max\(what)"] = (maximum ?? standard.maximum).map { .string(String($0)) }
        return .object(json)
    }
}
