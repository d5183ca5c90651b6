package import Cryptography
internal import Encoding

/// Registers a device with a pool that tracks devices: the pool gets a verifier, the device keeps the secret.
package struct DeviceRegistration: Sendable {
    let client: CognitoClient
    let random: @Sendable (Int) -> [UInt8]

    package init(client: CognitoClient, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.client = client
        self.random = random
    }

    /// Calls ConfirmDevice and, if the pool leaves remembering to the user, UpdateDeviceStatus.
    ///
    /// - Parameter isRemembered: the user's choice, used only if the pool leaves it to the user.
    package func confirm(
        _ device: AuthenticationResult.NewDevice, accessToken: Secret, name: String?, isRemembered: Bool
    ) async throws(CognitoError) -> DeviceCredentials {
        let credentials = DeviceCredentials(
            key: device.key, groupKey: device.groupKey, password: Secret(Base64.encode(random(40))))
        let salt = SRPNumber(random(16))
        let identity = SRPIdentity(deviceGroupKey: device.groupKey, deviceKey: device.key)
        let verifier: SRPNumber
        do {
            verifier = try identity.verifier(salt: salt, password: credentials.password)
        } catch {
            throw CognitoError(unavailable: "ProofFailed")
        }
        var input: JSONObject = [
            "AccessToken": .string(accessToken.exposeText()), "DeviceKey": .string(device.key),
            "DeviceSecretVerifierConfig": [
                "PasswordVerifier": .string(Base64.encode(verifier.padded)),
                "Salt": .string(Base64.encode(salt.padded)),
            ],
        ]
        input["DeviceName"] = name.map(JSON.string)
        let output = try await client.call(.confirmDevice, input)
        if output["UserConfirmationNecessary"]?.boolValue == true, isRemembered {
            _ = try await client.call(
                .updateDeviceStatus,
                [
                    "AccessToken": .string(accessToken.exposeText()), "DeviceKey": .string(device.key),
                    "DeviceRememberedStatus": "remembered",
                ])
        }
        return credentials
    }
}
