/// The limit of account calls that was reached. The raw values are reason codes.
package enum LimitCause: String, Sendable, CaseIterable {
    case address = "rate-limited-address"
    case account = "rate-limited-account"
    case global = "rate-limited-global"
    case lockout = "account-locked"
}
