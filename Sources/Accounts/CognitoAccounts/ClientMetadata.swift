internal import Encoding

extension RequestFields {
    /// Reads `client_metadata`: values for the pool's triggers, which neither Cognito nor the gateway verifies.
    ///
    /// - Parameter allowed: the accepted keys; any other is an error of that field.
    /// - Returns: nil if no value is given.
    mutating func clientMetadata(_ allowed: [String]) -> JSON? {
        guard var inner = optionalObject("client_metadata") else { return nil }
        defer { take(inner) }
        guard inner.count <= allowed.count else {
            inner.refuseWhole("has keys that are not accepted")
            return nil
        }
        var metadata: JSONObject = [:]
        for name in inner.names {
            guard name.isOne(of: allowed) else {
                inner.refuse(name, "is not accepted")
                continue
            }
            metadata[name] = inner.optionalText(name, atMost: 1024).map(JSON.string)
        }
        return metadata.isEmpty ? nil : .object(metadata)
    }
}
