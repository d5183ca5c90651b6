internal import Encoding

/// The app that a `User-Agent` names (RFC 9110 §10.1.5), independent of the SDK and HTTP library that sent it.
///
/// AWS SDKs put the app's own name into `app/`, Apple's URL loading system puts it first, and others append it. Without
/// one, the Amplify library is used, because it changes with the app's releases, and otherwise the first product.
struct UserAgentApplication {
    private struct Product {
        var name: Substring
        /// The part after the first `/`; empty without one.
        var version: Substring

        init(_ token: Substring) {
            let end = token.utf8.firstIndex(of: UInt8(ascii: "/")) ?? token.endIndex
            name = token[..<end]
            version = end == token.endIndex ? "" : token[token.utf8.index(after: end)...]
        }
    }

    private static let maximumBytes = 64
    /// Real values have a few hundred bytes.
    private static let maximumRead = 1024

    private let tokens: [Substring]

    init(_ value: String) {
        let readable = value.utf8.prefix(Self.maximumRead)
        tokens = Self.tokens(value[readable.startIndex..<readable.endIndex])
    }

    /// At most 64 bytes of `A-Za-z0-9._/-`; nil if there is no product.
    var name: String? {
        guard let first = tokens.first else { return nil }
        let products = tokens.map { Product($0) }
        if Self.isOwn(products[0]) { return Self.bounded(first) }
        if let app = products.first(where: { Self.isNamed($0, "app") }) { return Self.bounded(app.version) }
        for (token, product) in zip(tokens, products) where Self.isOwn(product) && Self.isNumbered(product) {
            return Self.bounded(token)
        }
        if let library = products.first(where: { Self.isNamed($0, "lib") }) { return Self.bounded(library.version) }
        return Self.bounded(first)
    }

    /// The products, without the comments between them. Comments can be nested.
    private static func tokens(_ value: Substring) -> [Substring] {
        var tokens: [Substring] = []
        var start: Substring.Index?
        var depth = 0
        for index in value.utf8.indices {
            let byte = value.utf8[index]
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            if depth == 0, byte != UInt8(ascii: "("), !isBlank {
                start = start ?? index
                continue
            }
            if let begun = start { tokens.append(value[begun..<index]) }
            start = nil
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth = max(0, depth - 1) }
        }
        if let start { tokens.append(value[start...]) }
        return tokens
    }

    private static func isNamed(_ product: Product, _ name: String) -> Bool {
        String(product.name).hasSameBytes(as: name) && !product.version.isEmpty
    }

    private static func isNumbered(_ product: Product) -> Bool {
        product.version.utf8.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
    }

    private static func isOwn(_ product: Product) -> Bool {
        let name = String(product.name).asciiLowercased
        return !parts.contains(ExactText(name)) && !families.contains { name.begins(with: $0) }
    }

    /// The names of SDKs, HTTP libraries, systems and browsers, and of the elements that AWS SDKs send.
    private static let parts: Set<ExactText> = [
        "alamofire", "android", "api", "app", "applewebkit", "auth", "boto3", "botocore", "callback", "cfg",
        "cfnetwork", "chrome", "crios", "dalvik", "dart", "darwin", "edg", "edge", "exec-env", "expo", "firefox",
        "framework", "ft", "fxios", "gecko", "hermes", "hll", "http", "internal", "io", "ios", "java", "jvm", "khtml",
        "kotlin", "ktor-client", "lang", "lib", "linux", "m", "macos", "md", "mobile", "mozilla", "node", "node.js",
        "okhttp", "opr", "os", "promise", "python", "python-requests", "python-urllib3", "safari", "samsungbrowser",
        "scala", "swift", "ua", "vendor", "version", "volley", "win32", "windows",
    ]

    /// The prefixes of names of SDKs and their parts.
    private static let families = ["amplify-", "aws", "com.amazonaws", ".net", "openjdk"]

    /// The text, cut to 64 bytes. Other bytes, including those that Apple's system percent-encodes, become `_`.
    private static func bounded(_ text: Substring) -> String {
        var result: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst(), result.count < maximumBytes {
            if byte == UInt8(ascii: "%"), bytes.prefix(2).count == 2, bytes.prefix(2).allSatisfy(isHexadecimal) {
                bytes = bytes.dropFirst(2)
            }
            // The newer `User-Agent` format of AWS SDKs separates name and version with `#`.
            result.append(byte == UInt8(ascii: "#") ? UInt8(ascii: "/") : isSafe(byte) ? byte : UInt8(ascii: "_"))
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
            UInt8(ascii: "a")...UInt8(ascii: "f"):
            true
        default: false
        }
    }

    private static func isSafe(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
