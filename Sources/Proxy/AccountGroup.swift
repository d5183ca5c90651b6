package import Accounts
internal import Pipeline

/// The pools whose account endpoints have the same paths: the host of a request says which of them is meant.
package struct AccountGroup: Sendable {
    package struct Member: Sendable {
        /// In lower case, without ports; empty for all that no other member names.
        var hosts: Set<String>
        package var accounts: CognitoAccounts

        package init(hosts: Set<String>, accounts: CognitoAccounts) {
            self.hosts = hosts
            self.accounts = accounts
        }
    }

    package var members: [Member]

    package init(members: [Member]) {
        self.members = members
    }

    /// The pool for a request with this authority; nil where none serves it.
    func accounts(for authority: String?) -> CognitoAccounts? {
        // Nearly always there is one, for all hosts.
        if members.count == 1, members[0].hosts.isEmpty { return members[0].accounts }
        let host = authority.map(Self.host) ?? ""
        return (members.first { $0.hosts.contains(host) } ?? members.first { $0.hosts.isEmpty })?.accounts
    }

    /// An authority without its port, in lower case (RFC 3986, 3.2.2).
    private static func host(_ authority: String) -> String {
        let text = authority.lowercased()
        // The address of IPv6 has colons of its own, in brackets.
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), text.utf8.last != UInt8(ascii: "]") else {
            return text
        }
        return String(text[..<colon])
    }
}
