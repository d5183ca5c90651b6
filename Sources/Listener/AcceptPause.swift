internal import Glibc
internal import NIOCore
internal import Sockets

/// Pauses accepting for 500 ms when the system has no descriptor or memory for another connection, or when few
/// descriptors are left. At each pause, idle connections are closed to make room.
///
/// The last descriptors are reserved for the connections' own needs, such as a connection to a backend, and for
/// libdispatch: its monitor of worker threads opens a file of /proc each second, and ends the process if it cannot.
final class AcceptPause: AcceptGate {
    private static let length = TimeAmount.milliseconds(500)

    private let makeRoom: () -> Void
    private var resumption: Scheduled<Void>?
    private var reserve: DescriptorReserve
    /// The most connections accepted in one turn of the event loop: a quarter of the reserve, since each refused
    /// connection holds a descriptor until its own event loop closes it.
    ///
    /// With only a few per turn, the last of a thousand new connections would wait for seconds while the earlier ones
    /// keep the loop busy.
    private let mostInTurn: Int
    /// Whether connections are accepted one at a time, because there was no room for the last one.
    private var isTrying = false

    /// - Parameters:
    ///   - reserve: the number of descriptors that client connections leave free.
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
        // During the pause, the rest of the same burst arrives here. It does not show whether there is room again.
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
