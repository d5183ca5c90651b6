internal import Synchronization

/// The table of work in progress other than proxied requests. A crash report lists it, so its memory is never freed.
///
/// ``CrashReport`` reads the table in a signal handler. It is therefore a fixed number of slots, each with an atomic
/// state, without locks and Swift objects. Descriptions contain no secrets.
package enum WorkInProgress {
    /// The slot of one piece of work; its index is nil if the table was full, which only shortens a report.
    package struct Slot: Sendable {
        fileprivate let index: Int?
    }

    static let slots = 256
    /// The maximum length of a description in bytes. Longer ones are truncated.
    static let textLimit = 120
    private static let slotBytes = 128
    private static let free = 0
    private static let reserved = 1
    /// A state of at least this value is this value plus the length of a description.
    private static let described = 2

    // A slot's text is written only by the thread that has reserved it by its atomic state.
    nonisolated(unsafe) private static let table: UnsafeMutableRawPointer = {
        let table = UnsafeMutableRawPointer.allocate(byteCount: slots * slotBytes, alignment: slotBytes)
        for index in 0..<slots {
            let state = unsafe (table + index * slotBytes).bindMemory(to: Atomic<Int>.self, capacity: 1)
            unsafe state.initialize(to: Atomic(free))
        }
        return unsafe table
    }()
    private static let next = Atomic(0)

    /// Records the begin of work. It must be followed by one ``end(_:)``.
    ///
    /// - Parameters:
    ///   - kind: the kind of work, such as `outbox delivery`.
    ///   - detail: the object of the work, such as a host name.
    package static func begin(_ kind: StaticString, _ detail: String = "") -> Slot {
        let first = next.add(1, ordering: .relaxed).oldValue
        for offset in 0..<slots {
            let index = Int(UInt(bitPattern: first &+ offset) % UInt(slots))
            guard reserve(index) else { continue }
            unsafe describe(kind, detail, in: index)
            return Slot(index: index)
        }
        return Slot(index: nil)
    }

    /// Records the end of work, successful or not.
    package static func end(_ slot: Slot) {
        guard let index = slot.index else { return }
        unsafe state(index).pointee.store(free, ordering: .releasing)
    }

    /// Calls `body` with the bytes of each description, which are valid during the call. Safe in a signal handler.
    static func forEach(_ body: (UnsafeRawBufferPointer) -> Void) {
        for index in 0..<slots {
            let length = unsafe state(index).pointee.load(ordering: .acquiring) - described
            guard length >= 0 else { continue }
            unsafe body(UnsafeRawBufferPointer(start: text(index), count: min(length, textLimit)))
        }
    }

    private static func reserve(_ index: Int) -> Bool {
        unsafe state(index).pointee.compareExchange(expected: free, desired: reserved, ordering: .acquiring).exchanged
    }

    @unsafe
    private static func describe(_ kind: StaticString, _ detail: String, in index: Int) {
        let target = unsafe UnsafeMutableRawBufferPointer(start: text(index), count: textLimit)
        var length = min(kind.utf8CodeUnitCount, textLimit)
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: kind.utf8Start, count: length))
        let bytes = detail.isEmpty ? [] : Array(" ".utf8) + Array(detail.utf8)
        for byte in bytes.prefix(textLimit - length) {
            // Bytes that JSON or text would have to escape are replaced.
            let isPlain = byte.isPlainJSON
            unsafe target[length] = isPlain ? byte : UInt8(ascii: "?")
            length += 1
        }
        unsafe state(index).pointee.store(described + length, ordering: .releasing)
    }

    private static func state(_ index: Int) -> UnsafeMutablePointer<Atomic<Int>> {
        unsafe (table + index * slotBytes).assumingMemoryBound(to: Atomic<Int>.self)
    }

    private static func text(_ index: Int) -> UnsafeMutableRawPointer {
        unsafe table + index * slotBytes + MemoryLayout<Int>.size
    }
}
