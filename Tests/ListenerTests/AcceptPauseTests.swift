import Glibc
import NIOCore
import NIOEmbedded
import Sockets
import Testing

@testable import Listener

@Suite("Listener: accepting pauses")
struct AcceptPauseTests {
    final class Socket: PausableListening {
        let embedded = EmbeddedEventLoop()
        var eventLoop: any EventLoop { embedded }
        private(set) var isAccepting = true

        func pause() { isAccepting = false }
        func startAccepting() { isAccepting = true }
    }

    @Test("A quarter of the reserve may come in a burst, and after a pause one connection until there is room for it")
    func bursts() {
        var pauses = 0
        let gate = AcceptPause(reserve: 32) { pauses += 1 }
        let socket = Socket()
        #expect(gate.burst == 8)
        gate.acceptFailed(EMFILE, socket)
        #expect(gate.burst == 1)
        #expect(pauses == 1)
        #expect(!socket.isAccepting)
        // One of the same burst says nothing about what comes after the pause.
        #expect(gate.admits(socket))
        #expect(gate.burst == 1)
        socket.embedded.advanceTime(by: .milliseconds(500))
        #expect(socket.isAccepting)
        #expect(gate.burst == 1)
        #expect(gate.admits(socket))
        #expect(gate.burst == 8)
    }

    @Test("A connection that broke before it was accepted does not pause anything")
    func brokenConnections() {
        let gate = AcceptPause(reserve: 32) {}
        let socket = Socket()
        gate.acceptFailed(ECONNABORTED, socket)
        #expect(socket.isAccepting)
        #expect(gate.burst == 8)
    }

    @Test("A socket that is closed in a pause does not begin again")
    func closed() {
        let gate = AcceptPause(reserve: 32) {}
        let socket = Socket()
        gate.acceptFailed(ENFILE, socket)
        gate.closed()
        socket.embedded.advanceTime(by: .seconds(5))
        #expect(!socket.isAccepting)
    }
}
