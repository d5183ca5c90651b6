/// What a token of Amazon Cognito is for: its `token_use` claim.
package enum TokenUse: String, Sendable, Hashable, CaseIterable {
    case access, id
}
