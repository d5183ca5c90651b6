internal import CMalloc

/// Memory that the process has freed.
package enum FreedMemory {
    /// Has glibc keep up to 4 MiB of it in each of its arenas, of which threads that allocate at once have one each
    /// (mallopt(3)).
    ///
    /// The buffers of one turn of an event loop are some hundred KiB, and freed at its end. By default glibc gives their
    /// pages back to the system as soon as 128 KiB are free, and the next turn pays for new ones.
    package static func keep() {
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
        // glibc no longer adapts this one to what is freed, once the one above is set.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
    }
}
