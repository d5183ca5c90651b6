internal import GRDB

/// A group of users as stored.
struct GroupRecord: Sendable {
    var name: String
    var description: String?
    var roleARN: String?
    var precedence: Int64?
    var createdAt: Int64
    var changedAt: Int64

    static func find(_ name: String, in database: Database) throws -> GroupRecord? {
        try Row.fetchOne(database, sql: "SELECT * FROM user_groups WHERE name = ?", arguments: [name])
            .map(GroupRecord.init)
    }

    /// - Throws: ResourceNotFoundException if there is none.
    static func required(_ name: String, in database: Database) throws -> GroupRecord {
        guard let group = try find(name, in: database) else {
            throw PoolError(type: "ResourceNotFoundException", message: "Group not found.")
        }
        return group
    }

    static func all(in database: Database) throws -> [GroupRecord] {
        try Row.fetchAll(database, sql: "SELECT * FROM user_groups ORDER BY name").map(GroupRecord.init)
    }

    /// Creates missing groups: those of users and those of the configuration.
    static func settle(_ names: [String], in database: Database, now: Int64) throws {
        let used = try UserRecord.all(in: database).flatMap(\.groups)
        for name in Set(names + used) where try find(name, in: database) == nil {
            try GroupRecord(name: name, createdAt: now, changedAt: now).save(in: database, now: now)
        }
    }

    func save(in database: Database, now: Int64) throws {
        try database.execute(
            sql: """
                INSERT OR REPLACE INTO user_groups (name, description, role_arn, precedence, created_at, changed_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [name, description, roleARN, precedence, createdAt, changedAt])
    }

    func delete(in database: Database) throws {
        try database.execute(sql: "DELETE FROM user_groups WHERE name = ?", arguments: [name])
    }
}

extension GroupRecord {
    fileprivate init(_ row: Row) {
        self.init(
            name: row["name"], description: row["description"], roleARN: row["role_arn"], precedence: row["precedence"],
            createdAt: row["created_at"], changedAt: row["changed_at"])
    }
}

extension PoolSchema {
    /// Groups that exist without users, and app clients created at run time.
    static let groupsAndClients = """
        CREATE TABLE user_groups (
            name TEXT PRIMARY KEY,
            description TEXT,
            role_arn TEXT,
            precedence INTEGER,
            created_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE app_clients (
            id TEXT PRIMARY KEY,
            secret TEXT,
            description TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            changed_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
