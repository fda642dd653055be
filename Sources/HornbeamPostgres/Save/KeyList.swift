#if Postgres
internal import HornbeamModel

/// Keys as text: `7:Book,9:Song`. Names of entities are identifiers, so they have no comma.
enum KeyList {
    static func text(_ keys: some Sequence<CustomStoreKey>) -> String { text([], keys) }

    /// The keys of tables and further keys.
    static func text(_ tables: [CustomStoreTable], _ keys: some Sequence<CustomStoreKey>) -> String {
        var bytes: [UInt8] = []
        func append(_ entityName: String, _ key: UInt64) {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes.append(digits: key)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: entityName.utf8)
        }
        for table in tables { for key in table.keys { append(table.entity.name, key) } }
        for key in keys { append(key.entityName, key.key) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil if a part is no key.
    static func keys(_ text: some StringProtocol) -> [CustomStoreKey]? {
        var keys: [CustomStoreKey] = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: ":", maxSplits: 1)
            guard ends.count == 2, let key = UInt64(ends[0]) else { return nil }
            keys.append(CustomStoreKey(String(ends[1]), key))
        }
        return keys
    }
}
#endif
