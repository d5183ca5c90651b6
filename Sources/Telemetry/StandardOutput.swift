internal import Foundation
internal import Synchronization

/// The process's standard output, which several logs write lines to.
package enum StandardOutput {
    private static let writing = Mutex(())

    /// Writes whole lines, one call after the other: lines of two logs must not mix. What can't be written is lost:
    /// there is no one to tell.
    package static let write: @Sendable ([UInt8]) -> Void = { lines in
        writing.withLock { _ in
            try? FileHandle.standardOutput.write(contentsOf: Data(lines))
        }
    }
}
