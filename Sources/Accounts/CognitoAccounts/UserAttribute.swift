internal import Encoding
internal import Pipeline

/// An attribute that a client sets for a user: `name`, or one of Cognito's names.
struct UserAttribute: Sendable, Equatable {
    @Exact var name: String
    /// The new value; empty to remove the attribute.
    @Exact var value: String
}

extension RequestFields {
    /// Reads the attributes of a request: the field `name`, and `attributes` under Cognito's names.
    ///
    /// - Parameters:
    ///   - writable: the attributes that users may set; any other is an error of that field.
    ///   - others: the attributes that other fields give.
    mutating func attributes(
        _ writable: WritableAttributes, besides others: [UserAttribute] = []
    ) -> [UserAttribute] {
        var attributes: [UserAttribute] = []
        if let value = optionalText("name", atMost: 256) {
            attributes.append(UserAttribute(name: "name", value: value))
        }
        if !attributes.isEmpty, !writable.contains("name") { refuse("name", Self.notWritable) }
        guard var inner = optionalObject("attributes") else { return attributes }
        guard attributes.count + inner.count <= Self.maximumAttributes else {
            inner.refuseWhole("are too many")
            take(inner)
            return attributes
        }
        for key in inner.names {
            // An e-mail address changes only through the calls that verify it.
            guard writable.contains(key), ExactText(key) != "email" else {
                inner.refuse(key, Self.notWritable)
                continue
            }
            // Null removes the attribute, as an empty value does in Cognito.
            let value = inner.optionalText(key, atMost: 2048) ?? ""
            if (attributes + others).contains(where: { $0.name.hasSameBytes(as: key) }) {
                inner.refuse(key, "is given twice")
            } else {
                attributes.append(UserAttribute(name: key, value: value))
            }
        }
        take(inner)
        return attributes
    }

    private static let notWritable = "is not an attribute that can be set"

    /// More than Cognito's standard attributes and its 50 custom ones together.
    private static let maximumAttributes = 70
}

extension UserAttribute {
    var json: JSON { ["Name": .string(name), "Value": .string(value)] }
}
