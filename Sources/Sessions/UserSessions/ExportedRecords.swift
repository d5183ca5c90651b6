internal import Accounts
package import Encoding
internal import Pipeline
package import Store

extension UserRecord {
    /// The form in `GET me/export`.
    var exported: JSONObject {
        var object = object
        object["email_verified"] = .bool(emailVerified)
        object["is_private_email"] = .bool(isPrivateEmail)
        object["email_as_of"] = emailAsOf > 0 ? .string(Timestamp.text(emailAsOf)) : .null
        object["issuer"] = .string(issuer)
        object["subject"] = .string(subject)
        object["created_at"] = .string(Timestamp.text(createdAt))
        object["disabled_at"] = disabledAt.map { .string(Timestamp.text($0)) } ?? .null
        return object
    }
}

extension UserSessionRecord {
    /// The form in `GET me/export`.
    package var exported: JSONObject {
        var exported: JSONObject = [
            "id": .string(id), "signed_in_at": .string(Timestamp.text(authTime)),
            "created_at": .string(Timestamp.text(createdAt)), "refreshed_at": .string(Timestamp.text(refreshedAt)),
            "expires_at": .string(Timestamp.text(expiresAt)),
            "ended_at": endedAt.map { .string(Timestamp.text($0)) } ?? .null,
            "device_id": deviceID.map(JSON.string) ?? .null,
        ]
        for (name, value) in device.members(platform: platform) { exported[name] = value }
        return exported
    }
}
