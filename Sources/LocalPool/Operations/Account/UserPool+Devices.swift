internal import Cryptography
package import Encoding
internal import Store

extension UserPool {
    /// ConfirmDevice: stores the verifier of the device secret that the app generated.
    package func confirmDevice(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let name = try fields.optional("DeviceName")
        let credentials = try Self.credentials(try fields.structure("DeviceSecretVerifierConfig"))
        var device = try await device(fields)
        device.credentials = credentials
        device.name = name
        device.isRemembered = configuration.devices == .always
        device.changedAt = clock()
        let confirmed = device
        try await store.write { try confirmed.save(in: $0) }
        return ["UserConfirmationNecessary": .bool(configuration.devices == .optIn)]
    }

    /// UpdateDeviceStatus: sets whether the device is remembered.
    package func updateDeviceStatus(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let status = try fields.optional("DeviceRememberedStatus")
        guard status == nil || status == "remembered" || status == "not_remembered" else {
            throw RequestFields.violation(
                "Value at 'deviceRememberedStatus'", "Member must satisfy enum value set: [remembered, not_remembered]")
        }
        var device = try await device(fields)
        if let status { device.isRemembered = status == "remembered" }
        device.changedAt = clock()
        let changed = device
        try await store.write { try changed.save(in: $0) }
        return [:]
    }

    /// ForgetDevice: removes the device and revokes its tokens.
    func forgetDevice(_ request: JSONObject) async throws -> JSONObject {
        let device = try await device(RequestFields(object: request))
        let now = clock()
        try await store.write { database in
            try device.delete(in: database)
            try RefreshTokenRecord.revokeAll(of: device.sub, deviceKey: device.key, in: database, now: now)
        }
        return [:]
    }

    func getDevice(_ request: JSONObject) async throws -> JSONObject {
        ["Device": Self.json(try await device(RequestFields(object: request)))]
    }

    /// ListDevices: the confirmed devices, in pages.
    package func listDevices(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let page = try Page(fields, token: "PaginationToken")
        let (user, _) = try await signedIn(fields)
        let devices = try await store.read { try DeviceRecord.confirmed(of: user.sub, in: $0) }
        return page.answer("Devices", devices.map { ($0.key, Self.json($0)) })
    }

    /// The device that the request names, which must belong to the access token's user.
    private func device(_ fields: RequestFields) async throws -> DeviceRecord {
        let key = try fields.required("DeviceKey", maximum: 55)
        let (user, _) = try await signedIn(fields)
        guard let device = try await store.read({ try DeviceRecord.find(key, of: user.sub, in: $0) }) else {
            throw PoolError.noDevice
        }
        return device
    }

    private static func credentials(_ fields: RequestFields) throws(PoolError) -> UserRecord.SRPCredentials {
        guard let verifier = Base64.decode(try fields.required("PasswordVerifier", maximum: 131_072).utf8),
            let salt = Base64.decode(try fields.required("Salt", maximum: 131_072).utf8),
            !verifier.isEmpty, verifier.count <= 512, !salt.isEmpty, salt.count <= 512
        else { throw .invalidParameter("Invalid device secret verifier.") }
        return UserRecord.SRPCredentials(salt: SRPNumber(salt), verifier: SRPNumber(verifier))
    }

    private static func json(_ device: DeviceRecord) -> JSON {
        let status = device.isRemembered ? "remembered" : "not_remembered"
        return [
            "DeviceKey": .string(device.key),
            "DeviceAttributes": [
                ["Name": "device_status", "Value": "valid"],
                ["Name": "device_name", "Value": .string(device.name ?? "")],
                ["Name": "dev:device_remembered_status", "Value": .string(status)],
            ],
            "DeviceCreateDate": .number(JSONNumber(device.createdAt)),
            "DeviceLastModifiedDate": .number(JSONNumber(device.changedAt)),
            "DeviceLastAuthenticatedDate": .number(JSONNumber(device.authenticatedAt)),
        ]
    }
}
