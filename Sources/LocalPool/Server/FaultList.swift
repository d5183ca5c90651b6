internal import Encoding

extension Rehearsal.Fault {
    /// Parses one fault of `POST /_local/faults`.
    ///
    /// - Throws: InvalidParameterException with the error.
    init(_ value: JSON) throws(PoolError) {
        guard let object = value.objectValue else { throw .invalidParameter("A fault is an object.") }
        let known: Set<String> = ["operation", "times", "delay_ms", "error", "message", "status", "drop"]
        if let unknown = object.first(where: { !known.contains($0.name) }) {
            throw .invalidParameter("A fault has no \(unknown.name).")
        }
        guard let operation = object["operation"]?.stringValue else {
            throw .invalidParameter("A fault needs an operation.")
        }
        self.init(operation: operation)
        times = try Self.integer(object, "times", 1...1_000_000)
        delay = try Self.integer(object, "delay_ms", 0...600_000) ?? 0
        status = try Self.integer(object, "status", 400...599).map { Int($0) }
        if let type = object["error"]?.stringValue {
            error = PoolError(type: type, message: object["message"]?.stringValue ?? "Rehearsed.")
        }
        if let value = object["drop"] {
            guard let drop = value.stringValue.flatMap(Drop.init) else {
                throw .invalidParameter("drop is before, after or mid_answer.")
            }
            self.drop = drop
        }
    }

    var json: JSON {
        var object: JSONObject = ["operation": .string(operation), "delay_ms": .number(JSONNumber(delay))]
        if let times { object["times"] = .number(JSONNumber(times)) }
        if let error { object["error"] = .string(error.type) }
        if let status { object["status"] = .number(JSONNumber(status)) }
        if let drop { object["drop"] = .string(drop.rawValue) }
        return .object(object)
    }

    private static func integer(
        _ object: JSONObject, _ name: String, _ range: ClosedRange<Int64>
    ) throws(PoolError) -> Int64? {
        guard let value = object[name] else { return nil }
        guard let number = value.integerValue, range.contains(number) else {
            throw .invalidParameter("\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }
}
