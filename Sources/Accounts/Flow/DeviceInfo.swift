package import Encoding
internal import Pipeline

/// The app's description of its device. None of it is proven.
package struct DeviceInfo: Sendable, Equatable {
    /// The ID that the session is bound to; nil if the description does not identify the device.
    @Exact package var deviceID: String?
    @Exact package var platform: String?
    @Exact package var osVersion: String?
    @Exact package var appVersion: String?
    @Exact package var model: String?
    @Exact package var name: String?
    @Exact package var locale: String?
    @Exact package var timezone: String?

    package init(deviceID: String?, platform: String? = nil) {
        self.deviceID = deviceID
        self.platform = platform
    }

    init(_ fields: inout RequestFields) {
        deviceID = fields.description(DeviceInfoNames.deviceID)
        platform = fields.description(DeviceInfoNames.platform)
        osVersion = fields.description(DeviceInfoNames.osVersion)
        appVersion = fields.description(DeviceInfoNames.appVersion)
        model = fields.description(DeviceInfoNames.model)
        name = fields.description(DeviceInfoNames.name)
        locale = fields.description(DeviceInfoNames.locale)
        timezone = fields.description(DeviceInfoNames.timezone)
    }

    /// Whether the description has no member.
    var isEmpty: Bool { self == DeviceInfo(deviceID: nil) }
}

extension DeviceInfo {
    /// Creates the description for a direct call: only the pool's key of the device is known.
    init(directDevice key: String) {
        self.init(deviceID: key.cut(toBytes: 256), platform: "cognito")
    }
}

extension DeviceInfo? {
    /// Returns the description with the device ID of the sign-in or session, if it names none itself.
    func bound(to deviceID: String?) -> DeviceInfo? {
        guard let deviceID else { return self }
        var device = self ?? DeviceInfo(deviceID: deviceID)
        device.deviceID = device.deviceID ?? deviceID
        return device
    }
}

/// The members of a `device_info` that released apps send. Each list begins with the API's own name. The first member
/// with a value counts.
enum DeviceInfoNames {
    /// In React Native's device-info, `deviceId` is the model and `uniqueId` the device. The `id` of Flutter's
    /// device_info_plus is Android's build, which many devices share: it is not in this list.
    static let deviceID = [
        "device_id", "unique_id", "uniqueId", "installation_id", "installationId", "identifier_for_vendor",
        "identifierForVendor", "android_id", "androidId", "deviceId", "deviceID",
    ]
    static let platform = [
        "platform", "os", "os_name", "osName", "system_name", "systemName", "device_platform", "devicePlatform",
        "device_os", "deviceOs", "deviceOS",
    ]
    static let osVersion = [
        "os_version", "osVersion", "system_version", "systemVersion", "device_os_version", "deviceOsVersion",
        "android_version", "androidVersion",
    ]
    static let appVersion = ["app_version", "appVersion", "version_name", "versionName", "build_number", "buildNumber"]
    static let model = ["model", "device_model", "deviceModel", "model_name", "modelName"]
    static let name = ["name", "device_name", "deviceName"]
    static let locale = ["locale", "device_locale", "deviceLocale", "language"]
    static let timezone = ["timezone", "time_zone", "timeZone"]
}
