internal import CNghttp2
internal import Glibc

/// The memory of one session.
///
/// libnghttp2 keeps a 16 KiB buffer for outgoing frames during the whole session, but most frames have only some
/// hundred bytes. Here the buffer is memory-mapped, so that only touched pages occupy memory, and none after
/// ``releaseIdleMemory()``: an idle connection needs 4 KiB less than with the heap.
final class HTTP2SessionMemory {
    /// The possible sizes of the frame buffer: the longest default payload of a frame (RFC 9113 §4.2), its header, and
    /// little more. No other block allocated at a session's creation has such a size.
    private static let mappedSizes = (16 << 10) + 9...(16 << 10) + 64
    private var mapped: UnsafeMutableRawBufferPointer?
    /// Whether the session is being created. Clients control the size of later blocks, whose contents must not be
    /// released.
    private var isBeingMade = true

    /// Whether the frame buffer is memory-mapped.
    var isMapped: Bool { mapped != nil }

    func sessionIsMade() { isBeingMade = false }

    deinit {
        if let mapped { munmap(mapped.baseAddress, mapped.count) }
    }

    /// The allocation functions for libnghttp2. This object must outlive the session that uses them.
    var functions: nghttp2_mem {
        nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, user in HTTP2SessionMemory.of(user).allocate(size) },
            free: { block, user in HTTP2SessionMemory.of(user).free(block) },
            calloc: { count, size, _ in calloc(count, size) },
            realloc: { block, size, user in HTTP2SessionMemory.of(user).reallocate(block, size) })
    }

    /// Returns the buffer's pages to the system. Their bytes are zero afterwards.
    ///
    /// - Precondition: no frame is partly written.
    func releaseIdleMemory() {
        if let mapped { madvise(mapped.baseAddress, mapped.count, MADV_DONTNEED) }
    }

    private static func of(_ user: UnsafeMutableRawPointer?) -> HTTP2SessionMemory {
        guard let user else { preconditionFailure("the functions have their memory") }
        return Unmanaged<HTTP2SessionMemory>.fromOpaque(user).takeUnretainedValue()
    }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        guard isBeingMade, mapped == nil, Self.mappedSizes.contains(size), let made = Self.map(size) else {
            return malloc(size)
        }
        mapped = made
        return made.baseAddress
    }

    /// Returns a new mapping; nil if the system allows no more mappings.
    private static func map(_ size: Int) -> UnsafeMutableRawBufferPointer? {
        let made = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let made, made != MAP_FAILED else { return nil }
        // The mappings of many sessions are adjacent. A huge page would cover several of them.
        madvise(made, size, MADV_NOHUGEPAGE)
        return UnsafeMutableRawBufferPointer(start: made, count: size)
    }

    private func free(_ block: UnsafeMutableRawPointer?) {
        guard let block, let mapped, mapped.baseAddress == block else { return Glibc.free(block) }
        munmap(block, mapped.count)
        self.mapped = nil
    }

    private func reallocate(_ block: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
        // libnghttp2 also allocates the frame buffer with realloc.
        guard let block else { return allocate(size) }
        guard let mapped, mapped.baseAddress == block else { return realloc(block, size) }
        guard let moved = malloc(size) else { return nil }
        moved.copyMemory(from: block, byteCount: min(size, mapped.count))
        free(block)
        return moved
    }
}
