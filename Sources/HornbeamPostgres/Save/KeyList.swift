#if Postgres
internal import HornbeamModel

/// Keys as text: `7:Book,9:Song`. Names of entities are identifiers, so they have no comma.
enum KeyList {
    static func text(_ keys: some Sequence<CustomStoreKey>) -> String {
        var bytes: [UInt8] = []
        for key in keys {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes.append(digits: key.key)
            bytes.append(UInt8(ascii: ":"))
            bytes.append(contentsOf: key.entityName.utf8)
        }
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
