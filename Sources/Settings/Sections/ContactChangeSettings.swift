internal import Pipeline
internal import SettingsReader

extension ContactChangeSettings {
    init(reading keys: SettingsMapping) {
        self.init()
        proof = keys.value("proof", .oneOf, default: proof)
        let age = keys.optional("recent_sign_in")
        if let age {
            recentSignIn = age.read(.duration(.seconds(30) ... .seconds(3600)))?.components.seconds ?? recentSignIn
            if proof != .recentSignIn { age.refuse("has no effect without proof: recent_sign_in") }
        }
    }
}
