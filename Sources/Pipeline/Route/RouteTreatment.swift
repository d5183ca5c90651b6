package import HTTPTypes

/// A route's changes to its requests and responses. A class, so that routes are cheap to copy.
package final class RouteTreatment: Sendable, Equatable {
    package let rewrite: TargetRewrite?
    package let requestHeaders: HeaderRules
    package let responseHeaders: HeaderRules
    /// The maximum length of a request's body, in bytes; nil for no limit.
    package let bodyLimit: Int?
    /// Whether responses are compressed if ``ResponseCompression`` allows it.
    package let compresses: Bool

    /// Whether responses differ from the backend's by more than the gateway's own changes.
    var changesResponses: Bool { compresses || !responseHeaders.isEmpty }

    package init(
        rewrite: TargetRewrite? = nil, requestHeaders: HeaderRules = HeaderRules(),
        responseHeaders: HeaderRules = HeaderRules(), bodyLimit: Int? = nil, compresses: Bool = false
    ) {
        self.rewrite = rewrite
        self.requestHeaders = requestHeaders
        self.responseHeaders = responseHeaders
        self.bodyLimit = bodyLimit
        self.compresses = compresses
    }

    package static func == (a: RouteTreatment, b: RouteTreatment) -> Bool {
        a.rewrite == b.rewrite && a.requestHeaders == b.requestHeaders && a.responseHeaders == b.responseHeaders
            && a.bodyLimit == b.bodyLimit && a.compresses == b.compresses
    }
}

/// The fields to set, in place of existing ones, and the fields to remove.
package struct HeaderRules: Sendable, Equatable {
    package let set: [HTTPField]
    /// The names in lower case, including those of the fields to set.
    package let removed: [String]
    /// The fields to set, as complete header lines.
    let lines: [UInt8]

    package init(set: [HTTPField] = [], remove: [HTTPField.Name] = []) {
        self.set = set
        self.removed = (set.map(\.name) + remove).map(\.canonicalName)
        self.lines = set.flatMap { field in
            Array("\(field.name.rawName): ".utf8) + Array(field.value.utf8) + Array("\r\n".utf8)
        }
    }

    package var isEmpty: Bool { removed.isEmpty }

    /// Whether rules for requests may not name this header. They cannot change framing and connections, and only the
    /// gateway sets the fields that identify the caller and the origin to the backend.
    package static func isReserved(request name: String, identityNamespace: String) -> Bool {
        let name = HeaderNames.normalised(name)
        return name == "content-length" || HeaderNames.isOwn(name, orMeans: [.clientAddress, .method])
            || name.hasPrefix(HeaderNames.normalised(identityNamespace))
    }

    /// Whether rules for responses may not name this header.
    package static func isReserved(response name: String) -> Bool {
        ResponseFields.isHopByHop(name.lowercased()) || name.lowercased() == "content-length"
    }
}
