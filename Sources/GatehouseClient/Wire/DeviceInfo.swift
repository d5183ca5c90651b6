/// The app's description of its device (`device_info`). The gateway binds the session to ``id``; the rest is for the
/// audit log and for the user's list of sessions.
public struct DeviceInfo: Sendable, Hashable, Codable {
    /// A random identifier that the app makes at its first start. The client makes and stores one if this is nil.
    public var id: String?
    /// The operating system's name, such as `ios`.
    public var platform: String?
    public var osVersion: String?
    public var appVersion: String?
    /// The device's model, such as `iPhone15,2`.
    public var model: String?
    /// The name that the user gave the device.
    public var name: String?
    /// The user's language and region, such as `en-GB`.
    public var locale: String?
    /// The IANA name of the device's time zone.
    public var timeZone: String?

    private enum CodingKeys: String, CodingKey {
        case platform, model, name, locale
        case id = "device_id"
        case osVersion = "os_version"
        case appVersion = "app_version"
        case timeZone = "timezone"
    }

    public init(
        id: String? = nil, platform: String? = nil, osVersion: String? = nil, appVersion: String? = nil,
        model: String? = nil, name: String? = nil, locale: String? = nil, timeZone: String? = nil
    ) {
        self.id = id
        self.platform = platform
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.model = model
        self.name = name
        self.locale = locale
        self.timeZone = timeZone
    }

    /// As the request has it. Longer texts than the gateway takes are cut.
    var json: JSONValue {
        let members = [
            "device_id": id, "platform": platform, "os_version": osVersion, "app_version": appVersion, "model": model,
            "name": name, "locale": locale, "timezone": timeZone,
        ]
        return .object(members.compactMapValues { $0.map { .string(String($0.prefix(256))) } })
    }
}
