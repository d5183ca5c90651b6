public import Synchronization

/// A value behind a mutex. The project takes no lock in any other way.
///
/// `Mutex` must not be locked in the body of an async function: it knows its owner by a thread id whose address Swift
/// 6.3 with `-O` keeps in the function's frame across suspensions. The function then unlocks as another thread than the
/// one it goes on on, and the process ends. Here locking, the body and unlocking are one synchronous function that is
/// never inlined, so callers may be async.
///
/// All of it is public: Swift 6.3 specializes no inlinable function of another module that is `package`, and reads and
/// writes the value through its metadata then.
///
/// A `Value` that is itself a function belongs into a struct. Each access to it as a generic value wraps it once more,
/// so that calls get slower until they overflow the stack; the lint refuses it.
///
/// `Tests/Lint/locks.py` refuses other locks, and `deploy/release/thread_addresses.py` looks for the fault in a
/// release.
public struct Locked<Value: ~Copyable>: ~Copyable, Sendable {
    @usableFromInline
    let mutex: Mutex<Value>

    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Calls `body` with the value while no other thread has it.
    ///
    /// - Throws: what `body` throws.
    @inlinable
    @inline(never)
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }

    /// Calls `body` with the value if no other thread has it.
    ///
    /// - Returns: nil if another thread has it.
    /// - Throws: what `body` throws.
    @inlinable
    @inline(never)
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try mutex.withLockIfAvailable(body)
    }
}
