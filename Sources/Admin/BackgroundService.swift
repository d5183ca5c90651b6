package import ACME
package import Accounts
package import Keys
package import Proxy
package import Sessions
package import Store
package import Telemetry
package import Upstream

/// A task that runs in the background, such as refreshing a key set or checking a server's health.
///
/// A service is identified by its object. If consecutive configuration snapshots list the same object, its task
/// continues. A different object is a different service, even with the same purpose.
package protocol BackgroundService: AnyObject, Sendable {
    /// Runs until its task is cancelled, or nothing remains to be done. It is called once.
    func run() async
}

extension AccountLimits: BackgroundService {}
extension AppleGrantValidation: BackgroundService {}
extension AssertionKeyService: BackgroundService {}
extension AuditKeyService: BackgroundService {}
extension CertificateService: BackgroundService {}
extension KeySetService: BackgroundService {}
extension LeftOverSessions: BackgroundService {}
extension LogWatch: BackgroundService {}
extension MetricsHistory: BackgroundService {}
extension Outbox: BackgroundService {}
extension ReplicaService: BackgroundService {}
extension RevocationService: BackgroundService {}
extension SealingKeyService: BackgroundService {}
extension ServerCheck: BackgroundService {}
extension SessionEnds: BackgroundService {}
extension StoreUpkeep: BackgroundService {}
extension StoreWatch: BackgroundService {}
extension TraceService: BackgroundService {}
extension UnredeemedCodes: BackgroundService {}
