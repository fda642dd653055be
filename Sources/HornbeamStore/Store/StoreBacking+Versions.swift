internal import HornbeamModel
internal import HornbeamThreads

// The versions of the cached rows of a querying store.

extension StoreBacking {
    /// The versions of the cached rows of some objects.
    func versions(of objects: [CustomStoreKey]) -> [CustomStoreKey: UInt64] {
        if objects.isEmpty { return [:] }
        return versions.withLock { versions in
            var found: [CustomStoreKey: UInt64] = [:]
            for object in objects { if let version = versions[object.key] { found[object] = version } }
            return found
        }
    }

    /// The rows that the cache must take: those whose versions are not those of the cached rows, those whose cached rows may lack index entries, and those with
    /// members, which have no versions.
    func unknown(_ rows: [CustomStoreRow]) -> [CustomStoreRow] {
        guard querying != nil else { return rows }
        return versions.withLock { versions in
            rows.filter { row in
                row.version == nil || !row.members.isEmpty || versions[row.object.key] != row.version || versions.lacksEntries(row.object.key)
            }
        }
    }

    /// The objects whose cached rows have later versions.
    func outdated(_ rows: [CustomStoreRow]) -> Set<CustomStoreKey> {
        versions.withLock { versions in
            var outdated: Set<CustomStoreKey> = []
            for row in rows {
                if let version = row.version, let cached = versions[row.object.key], version < cached { outdated.insert(row.object) }
            }
            return outdated
        }
    }

    /// The versions of the cached rows of some keys; nil for keys without one.
    func versions(of keys: [UInt64]) -> [UInt64?] {
        versions.withLock { versions in
            var found: [UInt64?] = []
            found.reserveCapacity(keys.count)
            for key in keys { found.append(versions[key]) }
            return found
        }
    }

    /// True if a row of an object is cached.
    func isCached(_ key: UInt64) -> Bool { versions.withLock { $0[key] != nil } }

    /// The keys of the cached rows that may lack index entries.
    func keysWithoutEntries(_ rows: [CustomStoreRow]) -> Set<UInt64> {
        versions.withLock { versions in
            var keys: Set<UInt64> = []
            for row in rows where versions.lacksEntries(row.object.key) { keys.insert(row.object.key) }
            return keys
        }
    }

    /// The places of the objects whose rows are cached. Nil if one of these rows is not the one that an update has replaced by the given version.
    func places(ofRowsBefore updated: [UInt64], of objects: [ObjectReference]) -> [Int]? {
        versions.withLock { versions in
            var places: [Int] = []
            for (place, object) in objects.enumerated() {
                guard let version = versions[object.key] else { continue }
                guard version + 1 == updated[place] else { return nil }
                places.append(place)
            }
            return places
        }
    }

    /// The places of the keys that are cached, and of the others.
    func split(_ keys: [UInt64]) -> (new: [Int], cached: [Int]) {
        versions.withLock { versions in
            var (new, cached): ([Int], [Int]) = ([], [])
            new.reserveCapacity(keys.count)
            for place in keys.indices {
                if versions[keys[place]] == nil { new.append(place) } else { cached.append(place) }
            }
            return (new, cached)
        }
    }

    /// Records the versions of cached rows, by the keys of their objects.
    func setVersions(_ rows: [(key: UInt64, version: UInt64)]) {
        versions.withLock { versions in
            for row in rows { versions.update(row.key) { _ in row.version } }
        }
    }

    /// Records the versions of rows of a table that are cached now without index entries.
    func setVersions(of places: [Int], in table: CustomStoreTable) {
        versions.withLock { versions in
            for place in places { versions.set(table.keys[place], table.versions[place], lacksEntries: true) }
        }
    }

    /// Makes the next read of objects compare their rows with the cached ones.
    func forget(_ objects: [CustomStoreKey]) {
        versions.withLock { versions in
            for object in objects { versions.update(object.key) { _ in 0 } }
        }
    }

    /// Records the versions of cached rows with all index entries.
    func setVersions(_ rows: [CustomStoreRow], without gone: [UInt64] = []) {
        guard querying != nil else { return }
        versions.withLock { versions in
            for row in rows {
                if let version = row.version { versions.set(row.object.key, version, lacksEntries: false) } else { versions.remove(row.object.key) }
            }
            for key in gone { versions.remove(key) }
        }
    }

    /// Records the versions of the rows that a save has written.
    func setVersions(after changes: ChangeSet) {
        versions.withLock { versions in
            for place in changes.inserts.indices { versions.set(changes.inserts[place].key, 1, lacksEntries: false) }
            for update in changes.updates { versions.update(update.key) { $0 + 1 } }
            for delete in changes.deletes { versions.remove(delete.key) }
        }
    }

    /// Records the versions of the rows that a batch has written.
    func setVersions(after changes: CustomStoreChanges) {
        versions.withLock { versions in
            for row in changes.inserted { versions.set(row.object.key, 1, lacksEntries: false) }
            for row in changes.updated { versions.update(row.object.key) { $0 + 1 } }
            for object in changes.deleted { versions.remove(object.key) }
        }
    }
}
