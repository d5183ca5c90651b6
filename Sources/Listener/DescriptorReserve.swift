internal import Glibc

/// The descriptors that are not for clients' connections.
enum DescriptorReserve {
    /// The number of them. A limit below four times that has a quarter in reserve.
    private static let size: rlim_t = 256

    /// Whether none of them is in use. The kernel gives out the lowest free number (POSIX.1-2024, open), so one that is
    /// opened for a moment shows how many are left.
    static var isFree: Bool {
        let next = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard next >= 0 else { return ![EMFILE, ENFILE].contains(errno) }
        close(next)
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return true }
        return rlim_t(next) < limit.rlim_cur - min(size, limit.rlim_cur / 4)
    }
}
