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
        @ObservationIgnored private var following: Task<Void, Never>?

        /// Restores the session, and follows it as long as the model lives.
        public init(_ gatehouse: Gatehouse) {
            following = Task { [weak self] in
                await gatehouse.restore()
                for await state in await gatehouse.states {
                    guard let self else { return }
                    self.state = state
                }
            }
        }

        deinit { following?.cancel() }
    }
#endif
