package import Accounts
internal import Encoding
internal import Pipeline

/// The user pools that share the same account endpoint paths. The request's host selects the pool.
package struct AccountGroup: Sendable {
    package struct Member: Sendable {
        /// The hosts of this pool, normalized. Empty: every host that no other member names.
        let hosts: Set<ExactText>
        package var accounts: CognitoAccounts

        package init(hosts: [String], accounts: CognitoAccounts) {
            self.hosts = Set(hosts.map { ExactText(RouteHost.normal($0) ?? $0) })
            self.accounts = accounts
        }
    }

    package var members: [Member]

    package init(members: [Member]) {
        self.members = members
    }

    /// The pool for a request with this authority; nil if none serves it.
    func accounts(for authority: String?) -> CognitoAccounts? {
        // The common case: one pool for all hosts.
        if members.count == 1, members[0].hosts.isEmpty { return members[0].accounts }
        let host = RouteHost.normal(authority).map { ExactText($0) }
        let named = host.flatMap { host in members.first { $0.hosts.contains(host) } }
        return (named ?? members.first { $0.hosts.isEmpty })?.accounts
    }
}
