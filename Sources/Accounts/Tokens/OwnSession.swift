internal import Cryptography
package import Encoding
internal import Pipeline
package import Store

/// A session as its user sees it: without tokens, and with an ID that reveals nothing.
package struct OwnSession: Sendable {
    package var id: String
    package var isCurrent: Bool
    package var platform: String?
    package var device: SessionDevice
    /// Seconds since 1970, like `lastUsedAt` and `endsAt`.
    package var signedInAt: Int64
    /// The time of the last sign-in or refresh: requests with an access token are not recorded.
    package var lastUsedAt: Int64
    package var endsAt: Int64

    package init(
        id: String, isCurrent: Bool, platform: String?, device: SessionDevice, signedInAt: Int64, lastUsedAt: Int64,
        endsAt: Int64
    ) {
        self.id = id
        self.isCurrent = isCurrent
        self.platform = platform
        self.device = device
        self.signedInAt = signedInAt
        self.lastUsedAt = lastUsedAt
        self.endsAt = endsAt
    }

    init(_ record: SessionRecord, isCurrent: Bool) {
        self.init(
            id: Hexadecimal.encode(record.family), isCurrent: isCurrent, platform: record.platform,
            device: record.device, signedInAt: record.signedInAt, lastUsedAt: record.refreshedAt,
            endsAt: record.endsAt)
    }

    /// Returns the family of an ID; nil if the ID is invalid.
    static func family(_ id: String) -> [UInt8]? {
        guard let family = Hexadecimal.decode(id), family.count == 16 else { return nil }
        return family
    }

    /// Returns the caller's own session first, then the others by their last use, latest first.
    package static func list(_ sessions: [OwnSession]) -> JSON {
        let sorted = sessions.sorted { ($0.isCurrent ? 1 : 0, $0.lastUsedAt) > ($1.isCurrent ? 1 : 0, $1.lastUsedAt) }
        return .array(sorted.map { .object($0.object) })
    }

    private var object: JSONObject {
        var object: JSONObject = ["id": .string(id), "current": .bool(isCurrent)]
        for (name, value) in device.members(platform: platform) { object[name] = value }
        object["signed_in_at"] = .string(Timestamp.text(signedInAt))
        object["last_used_at"] = .string(Timestamp.text(lastUsedAt))
        object["ends_at"] = .string(Timestamp.text(endsAt))
        return object
    }
}

extension SessionDevice {
    package init(_ device: DeviceInfo?) {
        self.init(
            name: device?.name, model: device?.model, osVersion: device?.osVersion, appVersion: device?.appVersion)
    }

    /// Returns the members in responses; null for values that the app has not sent.
    package func members(platform: String?) -> JSONObject {
        [
            "device_name": name.map(JSON.string) ?? .null, "model": model.map(JSON.string) ?? .null,
            "platform": platform.map(JSON.string) ?? .null, "os_version": osVersion.map(JSON.string) ?? .null,
            "app_version": appVersion.map(JSON.string) ?? .null,
        ]
    }
}
