/// Whether somebody is signed in.
public enum SessionState: Sendable, Hashable {
    /// The stored session has not been read yet.
    case restoring
    /// The stored session cannot be read for now: the device is locked, or the store fails. Each use tries again.
    case locked
    /// `isFresh` is false while the access token has expired and could not be refreshed, as without a network.
    case signedIn(User, isFresh: Bool)
    case signedOut(SignOutReason)

    public var user: User? { if case .signedIn(let user, _) = self { user } else { nil } }
}

/// Why nobody is signed in.
public enum SignOutReason: Sendable, Hashable {
    /// No session was stored.
    case notSignedIn
    /// The app called ``Gatehouse/signOut(everywhere:)``.
    case requested
    /// The gateway ended the session or does not know it, for its own reason: expired, revoked, or used by two parties.
    case ended(GatewayError)
    case userDeleted
    /// Another process that shares the store signed out, or signed another user in.
    case elsewhere
    /// The stored session cannot be decoded. It stays in the store until the next sign-in.
    case unreadable
}

/// Something that happened to the session.
public enum SessionEvent: Sendable, Hashable {
    case signedIn(User)
    case refreshed
    case userChanged(User)
    /// The session is over; `signedOut` names the reason.
    case signedOut(SignOutReason)
    case userDeleted
    /// A session could not be stored or removed, or the store not be read, for the store's reason. The next use tries
    /// again. A read on a locked device is not reported: the state is `.locked`.
    case notStored(String)
}
