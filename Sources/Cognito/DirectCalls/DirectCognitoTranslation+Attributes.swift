internal import Encoding
internal import Pipeline

extension DirectCognitoTranslation {
    /// Restricts the operations that write attributes to those that users may set. A registration may also set the
    /// e-mail address.
    ///
    /// - Throws: Cognito's error for an attribute that the app client may not write.
    func checkAttributes(_ operation: String, _ input: JSONObject) throws(DirectCognitoRefusal) {
        for (name, value) in input {
            switch Self.folded(name) {
            case Self.folded("UserAttributes"):
                let names = try Self.names(in: value, Self.attributeName)
                try check(names, orEmail: ExactText(operation) == "SignUp")
            case Self.folded("UserAttributeNames"):
                try check(Self.names(in: value, \.stringValue), orEmail: false)
            case Self.folded("ChallengeResponses"):
                let prefix = Self.folded("userAttributes.")
                let responses = value.objectValue?.map(\.name) ?? []
                let given = responses.filter { Self.folded($0).starts(with: prefix) }
                // A user's first own password completes a registration.
                try check(given.map { String(decoding: $0.utf8.dropFirst(prefix.count), as: UTF8.self) }, orEmail: true)
            default: break
            }
        }
    }

    /// Returns the input with only the `ClientMetadata` keys that the settings list, so that others reach no trigger.
    /// They are dropped rather than refused, because SDKs add keys of their own to sign-ins.
    func withListedMetadata(_ input: JSONObject) throws(DirectCognitoRefusal) -> JSONObject {
        var listed = input
        for (name, value) in input where Self.folded(name) == Self.folded("ClientMetadata") {
            listed[name] = nil
            guard value == .null || value.objectValue != nil else { throw .malformed }
            guard name.hasSameBytes(as: "ClientMetadata") else { continue }
            var metadata: JSONObject = [:]
            for key in pool.settings.choice.metadataKeys { metadata[key] = value[key] }
            if !metadata.isEmpty { listed[name] = .object(metadata) }
        }
        return listed
    }

    private func check(_ names: [String], orEmail isRegistration: Bool) throws(DirectCognitoRefusal) {
        for name in names where !pool.settings.writableAttributes.contains(name) {
            guard isRegistration, name.utf8.elementsEqual("email".utf8) else { throw .attributeNotWritable }
        }
    }

    private static func names(
        in value: JSON, _ name: (JSON) -> String?
    ) throws(DirectCognitoRefusal) -> [String] {
        if value == .null { return [] }
        guard let elements = value.arrayValue else { throw .malformed }
        var names: [String] = []
        for element in elements {
            guard let name = name(element) else { throw .malformed }
            names.append(name)
        }
        return names
    }

    /// Returns nil for an element with members other than a name and a value.
    private static func attributeName(_ element: JSON) -> String? {
        guard let object = element.objectValue, let name = object["Name"]?.stringValue else { return nil }
        return object.count == (object["Value"] == nil ? 1 : 2) ? name : nil
    }

    /// Lowers the case of ASCII letters. Cognito may accept a member's name in another case, so every case is checked.
    private static func folded(_ name: String) -> [UInt8] {
        name.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
