/// The app's description of its device (`device_info`). The gateway binds the session to ``id``; the rest is for the
/// audit log and for the user's list of sessions.
public struct DeviceInfo: Sendable, Hashable {
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

    public init() {}

    /// As the request has it. Longer texts than the gateway takes are cut.
    var json: JSONValue {
        let members = [
            "device_id": id, "platform": platform, "os_version": osVersion, "app_version": appVersion, "model": model,
            "name": name, "locale": locale, "timezone": timeZone,
        ]
        return .object(members.compactMapValues { $0.map { .string(String($0.prefix(256))) } })
    }
}
