internal import CMalloc

/// The memory that the process has freed.
package enum FreedMemory {
    /// Makes glibc keep up to 4 MiB of freed memory in each of its arenas. Threads that allocate concurrently have one
    /// arena each (mallopt(3)).
    ///
    /// One iteration of an event loop uses buffers of some hundred KiB and frees them at its end. By default glibc
    /// returns their pages to the system as soon as 128 KiB are free, and the next iteration pays for new ones.
    package static func keep() {
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
        // Setting the threshold above disables glibc's automatic adjustment of this one.
        mallopt(M_MMAP_THRESHOLD, 1 << 20)
    }
}
