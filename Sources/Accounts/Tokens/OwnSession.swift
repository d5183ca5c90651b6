internal import Cryptography
package import Encoding
internal import Pipeline
package import Store

/// A session as its user is shown it: no token, and an id that says nothing.
package struct OwnSession: Sendable {
    package var id: String
    package var isCurrent: Bool
    package var platform: String?
    package var device: SessionDevice
    /// Seconds since 1970, as `lastUsedAt` and `endsAt`.
    package var signedInAt: Int64
    /// The last sign-in or refresh: requests with an access token are not recorded.
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

    /// The family that an id stands for; nil for what is no id.
    static func family(_ id: String) -> [UInt8]? {
        guard let family = Hexadecimal.decode(id), family.count == 16 else { return nil }
        return family
    }

    /// The one that asks first, then the last used one.
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

    /// As responses show it; null for what the app did not say.
    package func members(platform: String?) -> JSONObject {
        [
            "device_name": name.map(JSON.string) ?? .null, "model": model.map(JSON.string) ?? .null,
            "platform": platform.map(JSON.string) ?? .null, "os_version": osVersion.map(JSON.string) ?? .null,
            "app_version": appVersion.map(JSON.string) ?? .null,
        ]
    }
}
