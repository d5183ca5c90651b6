internal import Encoding
internal import Store

extension StoreReport {
    var json: JSONObject {
        [
            "good": .bool(isGood), "faults": .array(errors.map(JSON.string)), "schema": .string(schemaState),
            "schema_difference": .array(schemaDifference.map(JSON.string)),
            "rows": .object(JSONObject(rows.map { ($0.table, JSON.number(JSONNumber($0.count))) })),
        ]
    }

    func text(on terminal: Terminal) -> String {
        var lines = [terminal.styled(isGood ? .good : .bad, isGood ? "good" : "not good")]
        lines += errors.map { "\(terminal.styled(.bad, "error")): \($0)" }
        let difference = schemaDifference.isEmpty ? "" : " (\(schemaDifference.joined(separator: ", ")))"
        lines.append("schema: \(schemaState)\(difference)")
        lines += rows.map { "\($0.table): \($0.count)" }
        return lines.joined(separator: "\n")
    }

    private var schemaState: String {
        switch schema {
        case .current: "current"
        case .older: "older"
        case .newer: "newer"
        case .unreadable: "unreadable"
        }
    }

    /// The missing or unknown migration steps.
    private var schemaDifference: [String] {
        switch schema {
        case .current, .unreadable: []
        case .older(let names), .newer(let names): names
        }
    }
}
