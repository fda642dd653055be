#if Postgres
internal import HornbeamModel

/// Keys as text: `7:Book,9:Song`. A comma in the name of an entity is written as `%2C`, and a percent sign as `%25`.
enum KeyList {
    static func text(_ keys: some Sequence<CustomStoreKey>) -> String { keys.map { "\($0.key):\(escaped($0.entityName))" }.joined(separator: ",") }

    /// Nil if a part is no key.
    static func keys(_ text: some StringProtocol) -> [CustomStoreKey]? {
        var keys: [CustomStoreKey] = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: ":", maxSplits: 1)
            guard ends.count == 2, let key = UInt64(ends[0]) else { return nil }
            keys.append(CustomStoreKey(unescaped(String(ends[1])), key))
        }
        return keys
    }

    /// The SQL expression for one key, from columns with the key and the name of the entity.
    static func expression(_ key: String, _ name: String, _ layout: StoreLayout) -> String {
        let needsEscape = layout.model.entities.contains { $0.name != escaped($0.name) }
        return "\(key) || ':' || " + (needsEscape ? "replace(replace(\(name), '%', '%25'), ',', '%2C')" : name)
    }

    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "%") }) else { return name }
        return name.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%25")
            .split(separator: ",", omittingEmptySubsequences: false).joined(separator: "%2C")
    }

    private static func unescaped(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "%")) else { return name }
        let parts = name.split(separator: "%", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(String(parts[0])) { $0 + ($1.hasPrefix("2C") ? "," : "%") + $1.dropFirst(2) }
    }
}
#endif
