internal import GRDB

/// The app's description of a session's device, shown to the user beside the device's id and platform.
package struct SessionDevice: Sendable, Equatable {
    package var name: String?
    package var model: String?
    package var osVersion: String?
    package var appVersion: String?

    package init(
        name: String? = nil, model: String? = nil, osVersion: String? = nil, appVersion: String? = nil
    ) {
        self.name = name
        self.model = model
        self.osVersion = osVersion
        self.appVersion = appVersion
    }
}

extension SessionDevice {
    /// Adds the columns to a table of sessions.
    static func migration(_ table: String) -> String {
        """
        ALTER TABLE \(table) ADD COLUMN device_name TEXT;
        ALTER TABLE \(table) ADD COLUMN device_model TEXT;
        ALTER TABLE \(table) ADD COLUMN os_version TEXT;
        ALTER TABLE \(table) ADD COLUMN app_version TEXT;
        """
    }

    init(_ row: Row) {
        self.init(
            name: row["device_name"], model: row["device_model"], osVersion: row["os_version"],
            appVersion: row["app_version"])
    }

    /// The values in the order of the columns.
    var values: StatementArguments { [name, model, osVersion, appVersion] }
}
