#if canImport(Observation)
    public import Observation

    /// The session for SwiftUI: views that read it follow it.
    @available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
    @MainActor
    @Observable
    public final class SessionModel {
        /// `.restoring` until the stored session has been read.
        public private(set) var state = SessionState.restoring
        public var user: User? { state.user }
        public var isSignedIn: Bool { user != nil }
        @ObservationIgnored private var tasks: [Task<Void, any Error>] = []

        /// Restores the session, each second until the store can be read, and follows it as long as the model lives.
        public init(_ gatehouse: Gatehouse) {
            tasks = [
                Task { while await gatehouse.restore() == .locked { try await gatehouse.clock.pause(seconds: 1) } },
                Task { [weak self] in
                    for await state in await gatehouse.states {
                        guard let self else { return }
                        self.state = state
                    }
                },
            ]
        }

        deinit { for task in tasks { task.cancel() } }
    }
#endif
