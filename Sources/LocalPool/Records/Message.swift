internal import Encoding
internal import GRDB

/// A message that the pool stores in an inbox instead of sending it.
struct Message: Sendable {
    enum Medium: String, Sendable {
        case email = "EMAIL"
        case sms = "SMS"

        /// The attribute that holds the address.
        var attribute: String { self == .email ? "email" : "phone_number" }
    }

    var medium: Medium
    /// An e-mail address or a telephone number.
    var address: String
    /// A purpose of ``ConfirmationCode/Purpose``, `sign-in` or `invitation`.
    var purpose: String
    /// The code, or the temporary password of an invitation.
    var code: String

    /// CodeDeliveryDetails.
    var deliveryDetails: JSONObject {
        [
            "AttributeName": .string(medium.attribute), "DeliveryMedium": .string(medium.rawValue),
            "Destination": .string(maskedAddress),
        ]
    }

    /// The address as Cognito shows it.
    var maskedAddress: String {
        medium == .email ? EmailAddress.masked(address) : "+*******" + address.suffix(4)
    }

    func insert(in database: Database, now: Int64) throws {
        try database.execute(
            sql: "INSERT INTO messages (email, medium, purpose, code, sent_at) VALUES (?, ?, ?, ?, ?)",
            arguments: [address, medium.rawValue, purpose, code, now])
    }

    /// The messages sent to this address, newest last: a list of `{email | phone, purpose, code, sent_at}`.
    static func inbox(of address: String, in database: Database) throws -> JSON {
        let rows = try Row.fetchAll(
            database, sql: "SELECT * FROM messages WHERE email = ? ORDER BY id", arguments: [address])
        return .array(
            rows.map { row in
                [
                    row["medium"] == Medium.email.rawValue ? "email" : "phone": .string(row["email"]),
                    "purpose": .string(row["purpose"]), "code": .string(row["code"]),
                    "sent_at": .number(JSONNumber(row["sent_at"] as Int64)),
                ]
            })
    }
}
