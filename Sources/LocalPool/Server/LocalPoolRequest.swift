internal import Encoding

/// A complete request to the local pool.
struct LocalPoolRequest: Sendable {
    var method: String
    /// The request target: path and query as sent.
    var target: String
    /// In the order received.
    var headers: [LocalPoolHeader] = []
    var body: [UInt8]
    /// Whether the client is on this machine.
    var isFromLoopback = true

    /// The target's path.
    var path: Substring { target.prefix { $0 != "?" } }

    /// The target's query without the question mark; empty if there is none.
    var query: Substring { target.drop { $0 != "?" }.dropFirst() }

    /// `X-Amz-Target`, if there is one.
    var operationTarget: String? { header("x-amz-target") }

    /// The first value of the header called `name`, which is in lower case.
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

    /// The percent-decoded value of the query parameter `name`; nil if it is missing or not UTF-8.
    func query(_ name: String) -> String? {
        FormEncoding.values(of: name, in: String(query)).first.flatMap { $0 }
    }
}

/// A header line of a request or response.
struct LocalPoolHeader: Sendable, Equatable {
    var name: String
    var value: String
}
