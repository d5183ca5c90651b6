import Encoding
import Pipeline
import Testing

@testable import Accounts

@Suite("Descriptions of devices")
struct DeviceInfoTests {
    struct Shape: Sendable, CustomTestStringConvertible {
        var source: String
        var json: String
        /// Device id, platform, version of the system, version of the app, model, name; "-" for none.
        var read: String

        var testDescription: String { source }
    }

    static let shapes = [
        Shape(
            source: "the API's own names",
            json: """
                {"device_id":"d-1","platform":"ios","os_version":"17.2","app_version":"3.1.0","model":"iPhone15,2",
                 "name":"Ada's iPhone","locale":"de_DE","timezone":"Europe/Berlin"}
                """, read: "d-1|ios|17.2|3.1.0|iPhone15,2|Ada's iPhone"),
        Shape(
            source: "an app without platform",
            json: #"{"device_id":"d-1","os_version":"17.2","app_version":"3.1.0"}"#, read: "d-1|-|17.2|3.1.0|-|-"),
        Shape(
            source: "camel case",
            json: """
                {"deviceId":"d-1","platform":"android","osVersion":"14","appVersion":"3.1.0","deviceModel":"Pixel 8",
                 "deviceName":"Pixel"}
                """, read: "d-1|android|14|3.1.0|Pixel 8|Pixel"),
        Shape(
            source: "versions as numbers",
            json: #"{"device_id":"d-1","os_version":17.20,"app_version":412,"model":null}"#,
            read: "d-1|-|17.20|412|-|-"),
        Shape(
            source: "React Native device-info: deviceId is the model",
            json: """
                {"uniqueId":"A1B2-C3","deviceId":"iPhone14,2","deviceType":"Handset","model":"iPhone 13 Pro","brand":"Apple",
                 "systemName":"iOS","systemVersion":"16.4","isTablet":false,"appName":"Rides"}
                """, read: "A1B2-C3|iOS|16.4|-|iPhone 13 Pro|-"),
        Shape(
            source: "React Native device-info: a name that is a promise",
            json: """
                {"os":"Android","os_version":"13","device":"google","device_model":"Pixel 7","device_id":"f3c1","device_name":{},
                 "device_manufacturer":{}}
                """, read: "f3c1|Android|13|-|Pixel 7|-"),
        Shape(
            source: "React Native device-info: an id that is a promise",
            json: #"{"device_id":{},"uniqueId":{},"os_version":"13"}"#, read: "-|-|13|-|-|-"),
        Shape(
            source: "Expo",
            json: """
                {"uniqueId":"unknown-7","deviceName":"Ada's Pixel","osName":"Android","osVersion":"14","deviceType":1,
                 "brand":"google","modelName":"Pixel 8","platform":"android","appVersion":"2.0.1","buildNumber":"2001"}
                """, read: "unknown-7|android|14|2.0.1|Pixel 8|Ada's Pixel"),
        Shape(
            source: "Flutter device_info_plus, iOS",
            json: """
                {"name":"Ada's iPhone","systemName":"iOS","systemVersion":"17.1","model":"iPhone","localizedModel":"iPhone",
                 "identifierForVendor":"5E5C-11","isPhysicalDevice":true,"utsname":{"machine":"iPhone15,2"}}
                """, read: "5E5C-11|iOS|17.1|-|iPhone|Ada's iPhone"),
        Shape(
            source: "Flutter device_info_plus, Android: id is the build",
            json: """
                {"id":"TP1A.220624.014","board":"cheetah","brand":"google","model":"Pixel 7 Pro","isPhysicalDevice":true,
                 "version":{"release":"13","sdkInt":33},"tags":"release-keys"}
                """, read: "-|-|-|-|Pixel 7 Pro|-"),
        Shape(
            source: "Flutter by hand",
            json: """
                {"device_id":"TP1A.220624.014","platform":"Android","model":"Pixel 7 Pro","os_version":"13",
                 "app_version":"1.0.0"}
                """, read: "TP1A.220624.014|Android|13|1.0.0|Pixel 7 Pro|-"),
        Shape(
            source: "Android by hand",
            json: """
                {"deviceId":"9774d56d682e549c","deviceOsVersion":34,"devicePlatform":"Android","pushToken":"x"}
                """, read: "9774d56d682e549c|Android|34|-|-|-"),
        Shape(
            source: "UIDevice by hand",
            json: #"{"type":"mobile","system_version":"15.0","device_type":"iPhone","app_version":"1.2 (45)"}"#,
            read: "-|-|15.0|1.2 (45)|-|-"),
        Shape(
            source: "empty texts and nulls",
            json: #"{"device_id":"d-1","platform":"","os_version":null,"app_version":"","model":"","name":null}"#,
            read: "d-1|-|-|-|-|-"),
        Shape(
            source: "an own name that is empty beside another one",
            json: #"{"device_id":"","deviceId":"d-2","platform":null,"os":"ios"}"#, read: "d-2|ios|-|-|-|-"),
        Shape(
            source: "the API's own name before all others",
            json: #"{"uniqueId":"u","device_id":"d-1","deviceId":"m"}"#, read: "d-1|-|-|-|-|-"),
    ]

    @Test("Descriptions as released apps send them are taken", arguments: shapes)
    func taken(shape: Shape) throws {
        let device = try #require(try Self.device(shape.json))
        let read = [
            device.deviceID, device.platform, device.osVersion, device.appVersion, device.model, device.name,
        ]
        #expect(read.map { $0 ?? "-" }.joined(separator: "|") == shape.read)
    }

    @Test(
        "A description that says nothing is none", arguments: ["{}", #"{"device_id":null}"#, #"{"push_token":"x"}"#])
    func nothing(json: String) throws {
        #expect(try Self.device(json) == nil)
    }

    @Test(
        "Text that could not be shown, and other types under the API's own names, are refused",
        arguments: [
            (#"{"device_id":["d"]}"#, "device_id", "must be a string"),
            (#"{"platform":true}"#, "platform", "must be a string"),
            (#"{"name":{"first":"x"}}"#, "name", "must be a string"),
            (#"{"deviceName":"a\u0000b"}"#, "deviceName", "must not contain control characters"),
            (#"{"model":"a\u202eb"}"#, "model", "must be plain text"),
            (#"{"uniqueId":"\#(String(repeating: "d", count: 257))"}"#, "uniqueId", "must be at most 256 characters"),
        ])
    func refused(json: String, field: String, message: String) {
        do throws(Refusal) {
            _ = try Self.device(json)
            Issue.record("taken")
        } catch {
            #expect(error.fields == [ExactText("device_info.\(field)"): message])
        }
    }

    @Test("What a description lacks comes from the session that it is of")
    func bound() {
        #expect(DeviceInfo?.none.bound(to: nil) == nil)
        #expect(DeviceInfo?.none.bound(to: "d-1") == DeviceInfo(deviceID: "d-1"))
        let nameless: DeviceInfo? = DeviceInfo(deviceID: nil, platform: "ios")
        #expect(nameless.bound(to: "d-1") == DeviceInfo(deviceID: "d-1", platform: "ios"))
        let other: DeviceInfo? = DeviceInfo(deviceID: "d-2")
        #expect(other.bound(to: "d-1") == other)
    }

    private static func device(_ json: String) throws(Refusal) -> DeviceInfo? {
        let value = (try? JSON.parse(Array(json.utf8))) ?? .null
        var fields = RequestFields(["device_info": value])
        let device = fields.device()
        try fields.check()
        return device
    }
}
