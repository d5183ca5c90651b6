import Foundation

extension DeviceInfo {
    /// This device and app, as far as the system says without asking the user. It has no ``id`` and no ``name``.
    public static var current: DeviceInfo {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        var device = DeviceInfo()
        device.platform = platformName
        device.osVersion = "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
        device.appVersion = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String
        device.model = modelIdentifier
        device.locale = Locale.current.identifier.replacingOccurrences(of: "_", with: "-")
        device.timeZone = TimeZone.current.identifier
        return device
    }

    private static var platformName: String {
        #if os(iOS)
            "ios"
        #elseif os(macOS)
            "macos"
        #elseif os(watchOS)
            "watchos"
        #elseif os(tvOS)
            "tvos"
        #elseif os(visionOS)
            "visionos"
        #else
            "linux"
        #endif
    }

    /// The hardware's identifier, such as `iPhone15,2` (uname(3)); nil if the system does not say.
    private static var modelIdentifier: String? {
        var system = utsname()
        guard unsafe uname(&system) == 0 else { return nil }
        let bytes = unsafe withUnsafeBytes(of: &system.machine) { unsafe Array($0) }
        let name = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }
}
