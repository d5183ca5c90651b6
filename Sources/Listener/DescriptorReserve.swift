internal import Glibc

/// The descriptors that are not for clients' connections.
enum DescriptorReserve {
    /// The number of them. A limit below four times that has a quarter in reserve.
    private static let size: rlim_t = 256

    /// Whether none of them is in use.
    static var isFree: Bool {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        let forClients = limit.rlim_cur - min(size, limit.rlim_cur / 4)
        if let inUse { return inUse <= forClients }
        // The kernel gives out the lowest free number (POSIX.1-2024, open), so one that is opened for a moment shows how
        // many are left. One below it that is being closed by another thread makes that too many.
        let next = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard next >= 0 else { return ![EMFILE, ENFILE].contains(errno) }
        close(next)
        return rlim_t(next) < forClients
    }

    /// How many descriptors the process has, with those that are about to be closed; nil where the kernel does not say.
    /// Since Linux 6.2 the size of this directory is their number (proc_pid_fd(5)).
    private static var inUse: rlim_t? {
        var status = stat()
        guard unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 else { return nil }
        return rlim_t(status.st_size)
    }
}
