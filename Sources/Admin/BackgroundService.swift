package import ACME
package import Accounts
package import Keys
package import Proxy
package import Sessions
package import Store
package import Telemetry
package import Upstream

/// Work that goes on beside requests, such as keeping a key set fresh or checking a server's health.
///
/// A service has an identity: one that consecutive configuration snapshots list goes on undisturbed. Another object is
/// another service, even if it does the same.
package protocol BackgroundService: AnyObject, Sendable {
    /// Works until its task is cancelled, or nothing is left to do. It is called once.
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
