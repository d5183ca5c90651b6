import Glibc

/// What only a start or a reload needs stays in memory: to read settings, and to look at the program's types once, goes
/// over most of its code. This gives that back, as the kernel would if memory ran short.
enum MemoryOfStart {
    /// At once, and when what follows a start has been done as well: key sets are fetched, the first questions answered.
    static func giveBackSoon() {
        Task.detached(priority: .background) {
            giveBack()
            try await Task.sleep(for: .seconds(5))
            giveBack()
        }
    }

    /// Code is in memory as it is in its file, from where what is wanted again comes again. Where the kernel does not
    /// tell what is mapped, or does not want to give it back, everything stays as it is.
    static func giveBack() {
        for line in maps().split(separator: UInt8(ascii: "\n")) {
            guard let code = code(String(decoding: line, as: UTF8.self)),
                let start = unsafe UnsafeMutableRawPointer(bitPattern: code.lowerBound)
            else { continue }
            _ = unsafe madvise(start, code.count, Int32(MADV_DONTNEED))
        }
    }

    /// The addresses of a line of `/proc/self/maps` (proc(5)), if they hold code of a file that nobody can have changed.
    static func code(_ line: String) -> Range<UInt>? {
        let fields = line.split(separator: " ")
        guard fields.count >= 6, fields[1] == "r-xp", fields[5].hasPrefix("/") else { return nil }
        let addresses = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard addresses.count == 2, addresses[0] < addresses[1] else { return nil }
        return addresses[0]..<addresses[1]
    }

    /// The kernel gives a page of it at a time, whatever it is asked for.
    private static func maps() -> [UInt8] {
        let file = unsafe open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var (text, page) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 14))
        while case let count = unsafe read(file, &page, page.count), count > 0 {
            text += page[..<count]
        }
        return text
    }
}
