public import Foundation

/// Where a session outlasts the app. Several processes, such as an app and its extensions, may share one.
///
/// A store keeps one value. It takes no lock between a read and a write: a write names what it replaces, and is refused
/// if another process has written since.
public protocol SessionStore: Sendable {
    /// - Returns: what is stored; nil if nothing is.
    /// - Throws: ``StoreFailure``. Nothing is deleted for a failed read.
    func read() async throws -> Data?
    /// Stores `new`, or deletes what is stored if it is nil.
    ///
    /// - Parameter old: what was read; nil if nothing was stored.
    /// - Returns: false, with nothing changed, if something else is stored by now.
    /// - Throws: ``StoreFailure``.
    func replace(_ old: Data?, with new: Data?) async throws -> Bool
    /// A second place, for sign-outs that this store does not take: the sessions that it has by then are not used any
    /// more. Nil for none, as it is by default.
    var signOuts: (any SessionStore)? { get }
}

extension SessionStore { public var signOuts: (any SessionStore)? { nil } }

/// Why a store could not be read or written.
public enum StoreFailure: Error, Sendable, Hashable {
    /// The device has not been unlocked since it started, or is locked now.
    case locked
    case failed(String)
}
