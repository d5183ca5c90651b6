internal import SettingsReader

extension LocalPoolConfiguration.AttributeSchema {
    /// Reads the section `attributes`. Without it, the pool has Cognito's defaults and any custom attribute.
    init(reading file: SettingsMapping) {
        self.init()
        guard let elements = file.optional("attributes")?.elements(expected: "attributes") else { return }
        isClosed = true
        for element in elements {
            guard let attribute = element.section({ Attribute(reading: $0) }) ?? nil else { continue }
            if attributes.contains(where: { $0.name == attribute.name }) { element.error("is there twice") }
            attributes.append(attribute)
        }
    }
}

extension LocalPoolConfiguration.AttributeSchema.Attribute {
    fileprivate init?(reading keys: SettingsMapping) {
        guard let name = keys.required("name", .text) else { return nil }
        self.init(name)
        let isCustom = name.hasPrefix("custom:")
        if !UserAttribute.isWritable(name) {
            keys.error("name", "must be one of Cognito's attributes, or custom: and a name")
        }
        kind = keys.value("type", .oneOf, default: kind)
        isRequired = keys.value("required", .boolean, default: isRequired)
        if isCustom, isRequired { keys.error("required", "a custom attribute cannot be required") }
        if !isCustom, keys.optional("type") != nil, kind != .string {
            keys.error("type", "is String for all attributes but custom ones")
        }
        isMutable = keys.value("mutable", .boolean, default: isMutable)
        minimum = keys.value("minimum", .integer(0...2048)).map { Int64($0) }
        maximum = keys.value("maximum", .integer(0...Int(Int32.max))).map { Int64($0) }
        if let minimum, let maximum, minimum > maximum { keys.error("maximum", "is less than minimum") }
    }
}

extension LocalPoolConfiguration.NamingRule {
    /// Reads `username_attributes` or `alias_attributes`, and `username_case_sensitive`.
    init(reading file: SettingsMapping) {
        self.init()
        let aliases = file.list(
            "alias_attributes", .word(among: ["email", "phone_number", "preferred_username"]), of: "attributes")
        let names = file.list("username_attributes", .word(among: ["email", "phone_number"]), of: "attributes")
        if names?.isEmpty == false, aliases != nil {
            file.error("alias_attributes", "a pool has either these or username_attributes")
        }
        usernameAttributes = names ?? (aliases == nil ? usernameAttributes : [])
        aliasAttributes = aliases ?? []
        isCaseSensitive = file.value("username_case_sensitive", .boolean, default: false)
    }
}
