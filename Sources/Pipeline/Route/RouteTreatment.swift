package import HTTPTypes

/// A route's changes to its requests and responses on their way. A class, so that routes stay cheap to copy.
package final class RouteTreatment: Sendable, Equatable {
    package let rewrite: TargetRewrite?
    package let requestHeaders: HeaderRules
    package let responseHeaders: HeaderRules
    /// The most bytes a request's body may have; nil for no limit.
    package let bodyLimit: Int?
    /// Whether responses are compressed where ``ResponseCompression`` lets them be.
    package let compresses: Bool

    /// Whether responses are others than the backend's, but for what the gateway always changes.
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

/// Fields that are set, whatever was there, and fields that are removed.
package struct HeaderRules: Sendable, Equatable {
    package let set: [HTTPField]
    /// In lower case; those that are set are among them.
    package let removed: [String]
    /// The fields set as complete lines.
    let lines: [UInt8]

    package init(set: [HTTPField] = [], remove: [HTTPField.Name] = []) {
        self.set = set
        self.removed = (set.map(\.name) + remove).map(\.canonicalName)
        self.lines = set.flatMap { field in
            Array("\(field.name.rawName): ".utf8) + Array(field.value.utf8) + Array("\r\n".utf8)
        }
    }

    package var isEmpty: Bool { removed.isEmpty }

    /// Whether rules for requests may not name this: framing and connections are not theirs to change, and what tells
    /// the backend who calls and from where is set by the gateway alone.
    package static func isReserved(request name: String, identityNamespace: String) -> Bool {
        let name = HeaderNames.normalised(name)
        return name == "content-length" || HeaderNames.isOwn(name, orMeans: [.clientAddress, .method])
            || name.hasPrefix(HeaderNames.normalised(identityNamespace))
    }

    /// Whether rules for responses may not name this.
    package static func isReserved(response name: String) -> Bool {
        ResponseFields.isHopByHop(name.lowercased()) || name.lowercased() == "content-length"
    }
}
