/// What a token of Amazon Cognito is for: its `token_use` claim.
package enum TokenUse: String, Sendable, Hashable, CaseIterable {
    case access, id

    var bit: UInt8 {
        switch self {
        case .access: 1
        case .id: 2
        }
    }
}
