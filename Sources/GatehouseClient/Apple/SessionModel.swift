#if canImport(Observation)
    public import Observation

    /// The session for SwiftUI: views that read it follow it.
    @available(iOS 17, macOS 14, tvOS 17, watchOS 10, visionOS 1, *)
    @MainActor
    @Observable
    public final class SessionModel {
        /// `.restoring` until the stored session has been read.
        public private(set) var state = SessionState.restoring
        /// The user that is signed in; nil if nobody is.
        public var user: User? { state.user }
        public var isSignedIn: Bool { user != nil }
        @ObservationIgnored private var restoring: Task<Void, any Error>?
        @ObservationIgnored private var following: Task<Void, Never>?

        /// Restores the session, each second until the store can be read, and follows it as long as the model lives.
        public init(_ gatehouse: Gatehouse) {
            restoring = Task {
                while await gatehouse.restore() == .locked { try await gatehouse.clock.pause(seconds: 1) }
            }
            following = Task { [weak self] in
                for await state in await gatehouse.states {
                    guard let self else { return }
                    self.state = state
                }
            }
        }

        deinit {
            restoring?.cancel()
            following?.cancel()
        }
    }
#endif
