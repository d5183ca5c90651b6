internal import Synchronization

/// The work besides plain requests that is under way: in memory that is never freed, so that a crash can report it.
///
/// ``CrashReport`` reads the table in a signal handler. It is therefore a fixed number of slots with an atomic state
/// each, without locks and without Swift objects. Descriptions hold nothing secret.
package enum WorkUnderWay {
    /// Where one piece of work is described; nil where the table was full, which only makes a report shorter.
    package struct Slot: Sendable {
        fileprivate let index: Int?
    }

    static let slots = 256
    /// Bytes of a description; a longer one is cut.
    static let textLimit = 120
    private static let slotBytes = 128
    private static let free = 0
    private static let reserved = 1
    /// A state above this is a description's length, and this added to it.
    private static let described = 2

    // Only slots whose state this process's threads agree upon are written to.
    nonisolated(unsafe) private static let table: UnsafeMutableRawPointer = {
        let table = UnsafeMutableRawPointer.allocate(byteCount: slots * slotBytes, alignment: slotBytes)
        for index in 0..<slots {
            let state = unsafe (table + index * slotBytes).bindMemory(to: Atomic<Int>.self, capacity: 1)
            unsafe state.initialize(to: Atomic(free))
        }
        return unsafe table
    }()
    private static let next = Atomic(0)

    /// Notes that work begins. Follow it with one ``end(_:)``.
    ///
    /// - Parameters:
    ///   - kind: what is done, as `outbox delivery`.
    ///   - detail: to whom or with what, such as a host's name.
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

    /// Notes that work has ended, however it did.
    package static func end(_ slot: Slot) {
        guard let index = slot.index else { return }
        unsafe state(index).pointee.store(free, ordering: .releasing)
    }

    /// Calls `body` with each description, as bytes that are valid during the call. Safe in a signal handler.
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
            // The report is JSON or a line of text: nothing in it needs escaping.
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
