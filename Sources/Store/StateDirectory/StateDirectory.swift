internal import Encoding
internal import FoundationEssentials
internal import Glibc

/// The owner and modes of a state directory and of the gateway's files in it.
///
/// Anyone who can write there can install a key set, a key or a database of their own and so sign in as anybody. The
/// directories above it are not checked themselves: a directory put in its place must pass the same check, so it must
/// belong to the process's user or to root.
package struct StateDirectory {
    let path: String

    package init(path: String) {
        self.path = path
    }

    // MARK: Making

    /// Creates the directory, for its owner only, if it is missing, and then checks the directory itself as ``check()``
    /// does. Others can write to it at no time, whatever the umask.
    ///
    /// - Throws: ``KeyFileError``
    package func make() throws(KeyFileError) {
        guard Self.make(path, 0o700) else { throw KeyFileError(path, failed: "cannot be made") }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { throw KeyFileError(path, failed: "cannot be read") }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw KeyFileError(path, "cannot be made: it is a file") }
        if let error = error(status) { throw error }
    }

    /// - Returns: false with `errno` set; true if the path exists already.
    private static func make(_ path: String, _ mode: mode_t) -> Bool {
        if unsafe mkdir(path, mode) == 0 || errno == EEXIST { return true }
        // A trailing slash does not name a directory within.
        let name = path.utf8.last == UInt8(ascii: "/") ? String(path.dropLast()) : path
        let parent = name[..<(name.lastIndex(of: "/") ?? name.startIndex)]
        guard errno == ENOENT, !parent.isEmpty, make(String(parent), 0o755) else { return false }
        return unsafe mkdir(path, mode) == 0 || errno == EEXIST
    }

    /// Gives a new file to the directory's owner, so that the gateway, under its own user, can read files created by
    /// root.
    func giveToOwner(_ descriptor: CInt) {
        var status = stat()
        guard geteuid() == 0, unsafe stat(path, &status) == 0 else { return }
        fchown(descriptor, status.st_uid, status.st_gid)
    }

    // MARK: Syncing

    /// Returns when the directory's entries survive a power loss.
    package func sync() throws(KeyFileError) {
        let descriptor = unsafe open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw KeyFileError(path, failed: "cannot be opened") }
        defer { close(descriptor) }
        // Some file systems do not support this (fsync(2): EINVAL).
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw KeyFileError(path, failed: "cannot be written") }
    }

    // MARK: Judging

    /// Checks the directory and each of the gateway's files in it. Missing ones are not errors.
    ///
    /// - Throws: ``KeyFileError`` with every file that others may change, or may read although it is secret.
    package func check() throws(KeyFileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw KeyFileError(path, failed: "cannot be read")
        }
        // A regular file in its place is reported when it is opened.
        guard status.st_mode & S_IFMT == S_IFDIR else { return }
        if let error = error(status) { throw error }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw KeyFileError(path, "cannot be read: \(error)")
        }
        let errors = names.filter(Self.isOwn).sorted().compactMap { error(ofFile: $0, ownerOfDirectory: status.st_uid) }
        if let first = errors.first { throw KeyFileError(all: errors, first) }
    }

    /// The reason why the file of this name is not trusted; nil if it is trusted or missing.
    package func error(ofFile name: String) -> KeyFileError? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return error(ofFile: name, ownerOfDirectory: status.st_uid)
    }

    private func error(_ status: stat) -> KeyFileError? {
        let user = geteuid()
        // Files that root creates are given to the directory's owner, whoever that is.
        guard status.st_uid == user || status.st_uid == 0 || user == 0 else {
            return KeyFileError(path, "belongs to user \(status.st_uid), and this runs as user \(user)")
        }
        guard status.st_mode & 0o022 == 0 else {
            return KeyFileError(
                path,
                "others than its owner may write to it (mode \(Self.text(status.st_mode))); if nobody has: chmod 700 \(path)"
            )
        }
        return nil
    }

    private func error(ofFile name: String, ownerOfDirectory: uid_t) -> KeyFileError? {
        let file = "\(path)/\(name)"
        var status = stat()
        guard unsafe stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        guard [geteuid(), 0, ownerOfDirectory].contains(status.st_uid) else {
            return KeyFileError(file, "belongs to user \(status.st_uid), who is not the directory's owner")
        }
        let isSecret = !name.hasPrefix(Self.keySetPrefix)
        // Files renamed out of use, such as replaced ones, are never opened.
        guard !Self.isOpened(name) || status.st_uid != 0 || geteuid() == 0 else {
            return KeyFileError(
                file, "belongs to root, and this runs as user \(geteuid()): chown \(geteuid()) \(file)")
        }
        return Self.error(ofFile: file, status.st_mode, isSecret: isSecret)
    }

    /// - Parameter isSecret: whether others may not read it either.
    static func error(ofFile path: String, _ mode: mode_t, isSecret: Bool) -> KeyFileError? {
        guard mode & (isSecret ? 0o077 : 0o022) != 0 else { return nil }
        let what = isSecret ? "read or change" : "change"
        return KeyFileError(
            path, "others than its owner may \(what) it (mode \(text(mode))); if nobody has: chmod 600 \(path)")
    }

    private static func text(_ mode: mode_t) -> String { String(mode & 0o777, radix: 8) }

    // MARK: Contents

    /// The prefix of fetched key sets: these are public, so others may read them, as in earlier versions.
    package static let keySetPrefix = "key-set-"

    /// The file with the ACME account and certificates.
    package static let acmeFileName = "acme.json"

    /// Whether the gateway reads or writes a file of this name, or has renamed one to it. An operator's own files are
    /// not checked.
    private static func isOwn(_ name: String) -> Bool {
        name.hasPrefix(keySetPrefix) || name.hasPrefix(GatewayStore.name)
            || name.hasPrefix(acmeFileName)
            || KeyPurpose.allCases.flatMap(\.fileNames).contains { name.hasPrefix($0) }
    }

    /// Whether the gateway must be able to open a file of this name if it exists.
    private static func isOpened(_ name: String) -> Bool {
        let names = [GatewayStore.name, acmeFileName] + KeyPurpose.allCases.flatMap(\.fileNames)
        return names.contains { own in
            ["", "-wal", "-shm", ".lock", ".schema.lock", ".orders.lock", ".gateways.lock"].contains {
                name.hasSameBytes(as: own + $0)
            }
        }
    }
}
