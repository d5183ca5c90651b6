internal import FoundationEssentials
internal import Glibc

/// The system's metrics of this process, with the names of Prometheus' client libraries.
package struct ProcessReadings: Sendable {
    /// The user and system time in microseconds.
    var cpuTime: Int64
    /// `VmRSS` of proc_pid_status(5). It includes code and other file pages, which the kernel can drop and read again.
    var residentBytes: Int64
    /// `RssAnon`: the resident anonymous memory.
    var anonymousBytes: Int64
    var virtualBytes: Int64
    var openDescriptors: Int64
    var maximumDescriptors: Int64
    /// Seconds since 1970.
    var startedAt: Int64

    /// Returns the current values; nil if the system does not report them.
    ///
    /// - Parameter startedAt: seconds since 1970.
    package static func now(startedAt: Int64) -> Self? {
        var usage = rusage()
        var limit = rlimit()
        guard unsafe getrusage(RUSAGE_SELF.rawValue, &usage) == 0,
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, let pages = memoryPages(),
            let open = openDescriptors()
        else { return nil }
        let pageSize = Int64(sysconf(CInt(_SC_PAGESIZE)))
        return Self(
            cpuTime: microseconds(usage.ru_utime) + microseconds(usage.ru_stime),
            residentBytes: pages.resident * pageSize, anonymousBytes: (pages.resident - pages.shared) * pageSize,
            virtualBytes: pages.virtual * pageSize, openDescriptors: open,
            maximumDescriptors: Int64(clamping: limit.rlim_cur), startedAt: startedAt)
    }

    private static func microseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_usec)
    }

    /// The first three numbers of proc_pid_statm(5). Shared pages are those of files and of shared memory.
    private static func memoryPages() -> (virtual: Int64, resident: Int64, shared: Int64)? {
        guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return nil }
        let numbers = text.split(separator: " ").prefix(3).compactMap { Int64($0) }
        return numbers.count == 3 ? (numbers[0], numbers[1], numbers[2]) : nil
    }

    /// The number of open descriptors. Since Linux 6.2 it is the size of the directory (proc_pid_fd(5)).
    private static func openDescriptors() -> Int64? {
        var status = stat()
        guard unsafe stat("/proc/self/fd", &status) == 0 else { return nil }
        if status.st_size > 0 { return Int64(status.st_size) }
        let entries = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        // One of them belongs to this listing.
        return entries.map { Int64($0.count) - 1 }
    }
}
