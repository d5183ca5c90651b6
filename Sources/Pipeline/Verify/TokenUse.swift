package enum TokenUse: String, Sendable, Hashable, CaseIterable { case access, id }
