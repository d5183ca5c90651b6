internal import Glibc
internal import NIOCore
internal import Sockets

/// Stops accepting for a moment when the system has no descriptor or no memory for another connection, or when few
/// descriptors are left. Meanwhile idle connections make room.
///
/// The last descriptors are for what the connections need, such as one to a backend, and for libdispatch: its monitor of
/// worker threads opens a file of /proc each second, and ends the process where it cannot.
final class AcceptPause: AcceptGate {
    private static let length = TimeAmount.milliseconds(500)

    private let makeRoom: () -> Void
    private var resumption: Scheduled<Void>?
    private var reserve: DescriptorReserve
    /// A quarter of the reserve may come in one turn of the event loop, since those that are refused take a descriptor
    /// each until their own event loops close them.
    ///
    /// With only a few in a turn, the last of a thousand new connections would wait for seconds while those before it
    /// keep the loop busy.
    private let mostInTurn: Int
    /// Whether connections are accepted one by one, because there was no room for the last.
    private var isTrying = false

    /// - Parameters:
    ///   - reserve: how many descriptors its connections leave to others.
    ///   - makeRoom: called at each pause.
    init(reserve: Int, makeRoom: @escaping () -> Void) {
        self.reserve = DescriptorReserve(size: reserve)
        mostInTurn = max(1, self.reserve.count / 4)
        self.makeRoom = makeRoom
    }

    var burst: Int { isTrying ? 1 : mostInTurn }

    func admits(_ socket: any PausableListening) -> Bool {
        guard reserve.isFree() else {
            pause(socket)
            return false
        }
        // Others of the same burst come here in the pause, and show nothing about the time behind it.
        if resumption == nil { isTrying = false }
        return true
    }

    func acceptFailed(_ code: Int32, _ socket: any PausableListening) {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) { pause(socket) }
    }

    private func pause(_ socket: any PausableListening) {
        guard resumption == nil else { return }
        socket.pause()
        isTrying = true
        makeRoom()
        let bound = NIOLoopBound((self, socket), eventLoop: socket.eventLoop)
        resumption = socket.eventLoop.scheduleTask(in: Self.length) {
            let (pause, socket) = bound.value
            pause.resumption = nil
            socket.startAccepting()
        }
    }

    func closed() { resumption?.cancel() }
}
