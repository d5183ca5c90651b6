internal import Encoding
internal import GRDB
internal import Store

extension UserPool {
    func createGroup(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let now = clock()
        let group = try GroupRecord(fields, createdAt: now)
        try await store.write { database in
            guard try GroupRecord.find(group.name, in: database) == nil else {
                throw PoolError(
                    type: "GroupExistsException", message: "A group with the name \(group.name) already exists.")
            }
            try group.save(in: database, now: now)
        }
        return ["Group": json(group)]
    }

    func getGroup(_ request: JSONObject) async throws -> JSONObject {
        let name = try Self.groupName(RequestFields(object: request))
        return ["Group": json(try await store.read { try GroupRecord.required(name, in: $0) })]
    }

    /// UpdateGroup: omitted members stay.
    func updateGroup(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let name = try Self.groupName(fields)
        let now = clock()
        let group = try await store.write { database in
            var group = try GroupRecord.required(name, in: database)
            try group.change(fields)
            group.changedAt = now
            try group.save(in: database, now: now)
            return group
        }
        return ["Group": json(group)]
    }

    /// DeleteGroup: deletes the group and removes its users from it.
    func deleteGroup(_ request: JSONObject) async throws -> JSONObject {
        let name = try Self.groupName(RequestFields(object: request))
        let now = clock()
        try await store.write { database in
            try GroupRecord.required(name, in: database).delete(in: database)
            for var user in try UserRecord.all(in: database) where user.groups.contains(name) {
                user.groups.removeAll { $0 == name }
                try user.update(in: database, now: now)
            }
        }
        return [:]
    }

    func listGroups(_ request: JSONObject) async throws -> JSONObject {
        let page = try Page(RequestFields(object: request), token: "NextToken")
        let groups = try await store.read { try GroupRecord.all(in: $0) }
        return page.answer("Groups", groups.map { ($0.name, json($0)) })
    }

    func adminListGroupsForUser(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let page = try Page(fields, token: "NextToken")
        let user = try await named(fields)
        let groups = try await store.read { try GroupRecord.all(in: $0) }.filter { user.groups.contains($0.name) }
        return page.answer("Groups", groups.map { ($0.name, json($0)) })
    }

    func listUsersInGroup(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let name = try Self.groupName(fields)
        let page = try Page(fields, token: "NextToken")
        let users = try await store.read { database in
            _ = try GroupRecord.required(name, in: database)
            return try UserRecord.all(in: database).filter { $0.groups.contains(name) }
        }
        return page.answer("Users", users.map { ($0.sub, .object(Self.description(of: $0, attributes: "Attributes"))) })
    }

    /// AdminAddUserToGroup; the group must exist.
    func adminAddUserToGroup(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let group = try Self.groupName(fields)
        let user = try await named(fields)
        _ = try await store.read { try GroupRecord.required(group, in: $0) }
        try await change(user.sub) { if !$0.groups.contains(group) { $0.groups.append(group) } }
        return [:]
    }

    /// AdminRemoveUserFromGroup.
    func adminRemoveUserFromGroup(_ request: JSONObject) async throws -> JSONObject {
        let fields = RequestFields(object: request)
        let group = try Self.groupName(fields)
        let user = try await named(fields)
        _ = try await store.read { try GroupRecord.required(group, in: $0) }
        try await change(user.sub) { $0.groups.removeAll { $0 == group } }
        return [:]
    }

    private static func groupName(_ fields: RequestFields) throws(PoolError) -> String {
        try fields.required("GroupName", maximum: 128)
    }

    private func json(_ group: GroupRecord) -> JSON {
        var json: JSONObject = [
            "GroupName": .string(group.name), "UserPoolId": .string(configuration.poolID),
            "CreationDate": .number(JSONNumber(group.createdAt)),
            "LastModifiedDate": .number(JSONNumber(group.changedAt)),
        ]
        json["Description"] = group.description.map(JSON.string)
        json["RoleArn"] = group.roleARN.map(JSON.string)
        json["Precedence"] = group.precedence.map { .number(JSONNumber($0)) }
        return .object(json)
    }
}

extension GroupRecord {
    fileprivate init(_ fields: RequestFields, createdAt: Int64) throws(PoolError) {
        self.init(name: try fields.required("GroupName", maximum: 128), createdAt: createdAt, changedAt: createdAt)
        try change(fields)
    }

    fileprivate mutating func change(_ fields: RequestFields) throws(PoolError) {
        description = try fields.optional("Description") ?? description
        roleARN = try fields.optional("RoleArn") ?? roleARN
        precedence = fields.object["Precedence"]?.integerValue ?? precedence
    }
}
