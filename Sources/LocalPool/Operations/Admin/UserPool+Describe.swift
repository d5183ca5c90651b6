internal import Encoding
internal import Store

extension UserPool {
    /// DescribeUserPool: the pool by its configuration.
    func describeUserPool(_ request: JSONObject) async throws -> JSONObject {
        let count = try await store.read { try UserRecord.all(in: $0).count }
        let naming = configuration.naming
        var pool: JSONObject = [
            "Id": .string(configuration.poolID), "Name": .string(configuration.poolID),
            "Arn": .string("arn:aws:cognito-idp:\(configuration.region):000000000000:userpool/\(configuration.poolID)"),
            "Policies": ["PasswordPolicy": passwordPolicy], "SchemaAttributes": .array(schemaAttributes),
            "AdminCreateUserConfig": [
                "AllowAdminCreateUserOnly": .bool(configuration.onlyAdministratorsCreateUsers),
                "UnusedAccountValidityDays": .number(JSONNumber(configuration.lifetimes.temporaryPassword / 86_400)),
            ],
            "UsernameConfiguration": ["CaseSensitive": .bool(naming.isCaseSensitive)],
            "MfaConfiguration": mfaMode, "EstimatedNumberOfUsers": .number(JSONNumber(Int64(count))),
            "DeletionProtection": "INACTIVE",
        ]
        let names = naming.usernameAttributes
        if !names.isEmpty { pool["UsernameAttributes"] = .array(names.map(JSON.string)) }
        if !naming.aliasAttributes.isEmpty {
            pool["AliasAttributes"] = .array(naming.aliasAttributes.map(JSON.string))
        }
        if configuration.devices != .off {
            pool["DeviceConfiguration"] = [
                "ChallengeRequiredOnNewDevice": true,
                "DeviceOnlyRememberedOnUserPrompt": .bool(configuration.devices == .optIn),
            ]
        }
        return ["UserPool": .object(pool)]
    }

    private var passwordPolicy: JSON {
        let rule = configuration.passwords
        return [
            "MinimumLength": .number(JSONNumber(rule.minimumLength)),
            "RequireLowercase": .bool(rule.requiresLowercase), "RequireUppercase": .bool(rule.requiresUppercase),
            "RequireNumbers": .bool(rule.requiresNumbers), "RequireSymbols": .bool(rule.requiresSymbols),
            "TemporaryPasswordValidityDays": .number(JSONNumber(configuration.lifetimes.temporaryPassword / 86_400)),
        ]
    }

    /// Cognito's standard attributes, and the custom ones of the configuration.
    private var schemaAttributes: [JSON] {
        let custom = configuration.schema.attributes.map(\.name).filter { $0.hasPrefix("custom:") }
        return (UserAttribute.standardNames + custom).compactMap { configuration.schema[$0]?.json }
    }
}
