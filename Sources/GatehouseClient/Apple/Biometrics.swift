public import Foundation

#if os(iOS) || os(macOS) || os(visionOS)
    import LocalAuthentication
#endif

/// Asks for Face ID, Touch ID or Optic ID before a use of the session, and not again for a while.
public actor Biometrics: PresenceCheck {
    private let goodFor: TimeInterval
    private let clock: any ClientClock
    private let ask: @Sendable () async -> Bool
    private var provenAt: TimeInterval?
    private var asking: Task<Bool, Never>?

    /// - Parameters:
    ///   - goodFor: seconds in which the user is not asked again. They count on while the device sleeps.
    ///   - ask: returns whether the user proved to be present; false also if this device cannot ask.
    public init(
        goodFor: TimeInterval, clock: any ClientClock = SystemClock(), ask: @escaping @Sendable () async -> Bool
    ) {
        (self.goodFor, self.clock, self.ask) = (goodFor, clock, ask)
    }

    /// Calls at the same time share one dialogue.
    public func confirm() async throws {
        if let provenAt, clock.uptime - provenAt < goodFor { return }
        let task = asking ?? Task { await ask() }
        asking = task
        let isPresent = await task.value
        if asking == task {
            asking = nil
            if isPresent { provenAt = clock.uptime }
        }
        guard isPresent else { throw GatehouseError.notPresent }
    }

    /// Asks again at the next use, such as after the app was in the background.
    public func forget() { (provenAt, asking) = (nil, nil) }
}

#if os(iOS) || os(macOS) || os(visionOS)
    extension Biometrics {
        /// The system's dialogue. On iOS the app's Info.plist needs `NSFaceIDUsageDescription`.
        ///
        /// - Parameters:
        ///   - reason: the text that the dialogue shows.
        ///   - allowsPasscode: whether the device's passcode will do, such as where no face is enrolled.
        public init(reason: String, goodFor: TimeInterval = 300, allowsPasscode: Bool = true) {
            self.init(goodFor: goodFor) {
                let context = LAContext()
                let policy: LAPolicy =
                    allowsPasscode ? .deviceOwnerAuthentication : .deviceOwnerAuthenticationWithBiometrics
                // Refused, cancelled, or not possible on this device: for the session all errors are the same.
                return (try? await context.evaluatePolicy(policy, localizedReason: reason)) ?? false
            }
        }
    }
#endif
