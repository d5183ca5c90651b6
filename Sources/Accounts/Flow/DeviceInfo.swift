package import Encoding
internal import Pipeline

/// The app's description of the device that it runs on.
package struct DeviceInfo: Sendable, Equatable {
    @Exact package var deviceID: String
    @Exact package var platform: String?
    @Exact var osVersion: String?
    @Exact package var appVersion: String?
    @Exact var model: String?
    @Exact package var name: String?
    @Exact package var locale: String?
    @Exact var timezone: String?

    package init(deviceID: String, platform: String? = nil) {
        self.deviceID = deviceID
        self.platform = platform
    }

    init(_ fields: inout RequestFields) {
        deviceID = fields.requiredText("device_id", atMost: 256)
        platform = fields.optionalText("platform", atMost: 256)
        if platform?.utf8.isEmpty == true { fields.refuse("platform", "must not be empty") }
        osVersion = fields.optionalText("os_version", atMost: 256)
        appVersion = fields.optionalText("app_version", atMost: 256)
        model = fields.optionalText("model", atMost: 256)
        name = fields.optionalText("name", atMost: 256)
        locale = fields.optionalText("locale", atMost: 256)
        timezone = fields.optionalText("timezone", atMost: 256)
    }
}

extension DeviceInfo {
    /// The description of the device of a direct call: only the key under which the pool tracks it is known.
    init(directDevice key: String) {
        self.init(deviceID: key.cut(toBytes: 256), platform: "cognito")
    }
}
