internal import CNghttp2
internal import Glibc

/// The memory of one session.
///
/// libnghttp2 keeps a buffer of 16 KiB for outgoing frames during the whole session, and a table of 4 KiB for its
/// streams. Most frames have only some hundred bytes, and an idle session has no streams. Here both are memory-mapped,
/// so that only touched pages occupy memory, and none after ``releaseIdleMemory()``: an idle connection needs 8 KiB
/// less than with the heap.
final class HTTP2SessionMemory {
    private static let pageSize = sysconf(Int32(_SC_PAGESIZE))
    /// The possible sizes of the frame buffer: the longest default payload of a frame (RFC 9113 §4.2), its header, and
    /// little more. No other block allocated at a session's creation has such a size.
    private static let frameBufferSizes = (16 << 10) + 9...(16 << 10) + 64
    /// The size of the table. No other block allocated at a session's creation has it.
    private static let tableSize = 4096
    /// The size of the frame buffer's pages. The table follows them.
    private static let frameBufferCapacity = (frameBufferSizes.upperBound / pageSize + 1) * pageSize

    /// The mapping; nil until its first block is allocated, or if the system refused it.
    private var mapping: UnsafeMutableRawBufferPointer?
    private var hasFrameBuffer = false
    private var hasTable = false
    /// Whether the session is being created. Clients control the size of later blocks, whose contents must not be
    /// released.
    private var isBeingMade = true

    /// Whether both blocks are memory-mapped.
    var isMapped: Bool { hasFrameBuffer && hasTable }

    func sessionIsMade() { isBeingMade = false }

    deinit {
        if let mapping { munmap(mapping.baseAddress, mapping.count) }
    }

    /// The allocation functions for libnghttp2. This object must outlive the session that uses them.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, user in HTTP2SessionMemory.with(user) { $0.allocate(size) } },
            free: { block, user in HTTP2SessionMemory.with(user) { $0.free(block) } },
            calloc: { count, size, user in HTTP2SessionMemory.with(user) { $0.allocateZeroed(count, size) } },
            realloc: { block, size, user in HTTP2SessionMemory.with(user) { $0.reallocate(block, size) } })
    }

    /// Returns the frame buffer's pages to the system, and those of a table without streams. Their bytes are zero
    /// afterwards, as all bytes of such a table were before.
    ///
    /// - Precondition: no frame is partly written.
    func releaseIdleMemory() {
        guard let mapping else { return }
        let table = UnsafeRawBufferPointer(rebasing: mapping[Self.frameBufferCapacity...])
        let isReleasable = table.bindMemory(to: UInt64.self).allSatisfy { $0 == 0 }
        madvise(mapping.baseAddress, isReleasable ? mapping.count : Self.frameBufferCapacity, MADV_DONTNEED)
    }

    /// Calls `body` without retaining the memory, which is there as long as its functions are. A request makes some 15
    /// calls.
    @inline(__always)
    private static func with<Result>(
        _ user: UnsafeMutableRawPointer?, _ body: (HTTP2SessionMemory) -> Result
    ) -> Result {
        guard let user else { preconditionFailure("the functions have their memory") }
        return Unmanaged<HTTP2SessionMemory>.fromOpaque(user)._withUnsafeGuaranteedRef(body)
    }

    // MARK: The mapping

    private var frameBuffer: UnsafeMutableRawPointer? { hasFrameBuffer ? mapping?.baseAddress : nil }
    private var table: UnsafeMutableRawPointer? {
        hasTable ? mapping?.baseAddress.map { $0 + Self.frameBufferCapacity } : nil
    }

    /// - Returns: false if the system allows no more mappings.
    private func map() -> Bool {
        guard mapping == nil else { return true }
        let size = Self.frameBufferCapacity + Self.tableSize
        let made = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let made, made != MAP_FAILED else { return false }
        // The mappings of many sessions are adjacent. A huge page would cover several of them.
        madvise(made, size, MADV_NOHUGEPAGE)
        mapping = UnsafeMutableRawBufferPointer(start: made, count: size)
        return true
    }

    // MARK: libnghttp2's functions

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard isBeingMade, !hasFrameBuffer, Self.frameBufferSizes.contains(size), map() else { return malloc(size) }
        hasFrameBuffer = true
        return frameBuffer
    }

    private func allocateZeroed(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
        let (product, overflows) = count.multipliedReportingOverflow(by: size)
        guard !overflows, isBeingMade, !hasTable, product == Self.tableSize, map() else { return calloc(count, size) }
        hasTable = true
        return table
    }

    /// A mapped block is not used again.
    private func free(_ block: UnsafeMutableRawPointer?) {
        guard let block else { return }
        switch block {
        case frameBuffer: hasFrameBuffer = false
        case table: hasTable = false
        default: Glibc.free(block)
        }
    }

    private func reallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        // libnghttp2 also allocates the frame buffer with realloc.
        guard let block else { return allocate(size) }
        let before = block == frameBuffer ? Self.frameBufferCapacity : block == table ? Self.tableSize : nil
        guard let before else { return realloc(block, size) }
        guard let moved = malloc(size) else { return nil }
        moved.copyMemory(from: block, byteCount: min(size, before))
        free(block)
        return moved
    }
}
