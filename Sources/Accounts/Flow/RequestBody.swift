package import Encoding
package import Pipeline

extension AccountRequest {
    /// The maximum size of a body in bytes.
    static var maximumBodyBytes: Int { 64 << 10 }

    /// Returns the fields of the body.
    ///
    /// - Throws: as ``jsonObject()``.
    package func fields() throws(Refusal) -> RequestFields { RequestFields(try jsonObject()) }

    /// Returns the body as a JSON object.
    ///
    /// - Throws: 413 for a body over the limit, 400 for a body that is not JSON, 422 for JSON that is not an object.
    package func jsonObject() throws(Refusal) -> JSONObject {
        guard body.count <= Self.maximumBodyBytes else {
            throw Refusal(.payloadTooLarge, reason: .request(.bodyTooLarge))
        }
        guard Self.isJSON(contentType) else {
            throw Refusal(
                .badRequest, message: "The content type must be application/json.", reason: .account(.contentType))
        }
        guard let json = try? JSON.parse(body) else {
            throw Refusal(.badRequest, message: "The request body is not valid JSON.", reason: .account(.malformedJSON))
        }
        guard let object = json.objectValue else {
            throw Refusal(
                .invalidParameter, message: "The request body must be a JSON object.", reason: .account(.invalidFields))
        }
        return object
    }

    /// Returns whether the content type is JSON. A missing one counts as JSON: many small clients send none.
    static func isJSON(_ contentType: String?) -> Bool {
        guard let contentType else { return true }
        let type = contentType.utf8.prefix { $0 != UInt8(ascii: ";") }
        let bare = type.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        let essence = String(decoding: bare, as: UTF8.self).asciiLowercased
        return essence.hasSameBytes(as: "application/json")
            || (essence.begins(with: "application/") && essence.ends(with: "+json"))
    }
}
