public import Synchronization

/// A value protected by a mutex. The project uses no other locks.
///
/// `Mutex` must not be locked in the body of an async function: it identifies its owner by a thread id, and Swift 6.3
/// with `-O` keeps that id's address in the function's frame across suspensions. If the function resumes on another
/// thread, it unlocks with the former thread's id, and the process crashes. Here locking, the body and unlocking are
/// one synchronous function that is never inlined, so callers may be async.
///
/// All of it is public: Swift 6.3 does not specialize inlinable functions of another module that are `package`; it
/// would then access the value through its metadata.
///
/// A `Value` that is a function must be wrapped in a struct. Each access to it as a generic value adds another
/// reabstraction wrapper, so calls get slower until the stack overflows; the lint rejects it.
///
/// `Tests/Lint/locks.py` rejects other locks, and `deploy/release/thread_addresses.py` checks releases for the defect.
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline
    let mutex: Mutex<Value>

    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with exclusive access to the value.
    ///
    /// - Throws: any error of `body`.
    @inlinable
    @inline(never)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }

    /// Calls `body` with exclusive access to the value, if the lock is free.
    ///
    /// - Returns: nil if another thread holds the lock.
    /// - Throws: any error of `body`.
    @inlinable
    @inline(never)
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try mutex.withLockIfAvailable(body)
    }
}
