import HornbeamEngine

extension EngineOracle {
    static let path = "s.hornbeam"

    /// The digest of a snapshot's content.
    func digest(_ snapshot: Snapshot) throws -> ContentDigest {
        var digest = ContentDigest()
        guard let index = snapshot.tree(named: "index"), let table = snapshot.tree(named: "table") else { return digest }
        try snapshot.index(index).forEach(in: KeyRange()) { key, value in
            digest.add(key)
            digest.add(value)
            return true
        }
        try snapshot.table(table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count {
                digest.add(leaf.key(slot))
                try OracleRow.add(leaf.row(slot), to: &digest)
            }
            return true
        }
        return digest
    }

    /// Throws unless the content equals that after the store's newest transaction.
    func expectContent(_ engine: Engine) throws {
        let snapshot = try engine.snapshot()
        let number = try newest(in: snapshot)
        guard number <= last else { throw Finding("transaction \(number) was never begun") }
        guard try digest(snapshot) == digests[Int(number)] else {
            throw Finding("the content is not that after transaction \(number)")
        }
    }

    /// Throws unless the content is correct and the check finds no fault.
    func expectSound(_ engine: Engine) throws {
        try expectContent(engine)
        let report = try engine.check()
        guard report.problems.isEmpty else { throw Finding(report.problems.joined(separator: " ")) }
    }

    /// Opens a store after a crash and judges it. It must have a state between the last acknowledged and the last submitted transaction, be
    /// intact, and accept new commits.
    func judge(_ image: CrashEnumerator.Image) throws {
        let engine = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        let found = try newest(in: engine.snapshot())
        guard found >= image.acknowledged, found <= max(image.submitted, image.acknowledged) else {
            throw Finding("recovered transaction \(found)")
        }
        image.disk.mark(.recovered)
        try expectSound(engine)
        let next = min(found + 2, last)
        try commit(to: engine, through: next, disk: image.disk)
        try expectContent(engine)
        try engine.close()
        let again = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        guard try newest(in: again.snapshot()) == max(found, next) else { throw Finding("reopening lost commits") }
        try expectSound(again)
        try again.close()
    }

    /// Opens a store after a crash with syncs that did nothing. Commits may be missing, but the content must be one of the
    /// states, or the opening must report the loss.
    func judgeAfterLies(_ image: CrashEnumerator.Image) throws {
        let engine: Engine
        do throws(EngineError) {
            engine = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        } catch {
            guard [.damaged, .logDamaged, .notAStore].contains(error.code) else { throw error }
            return
        }
        image.disk.mark(.recovered)
        do {
            let found = try newest(in: engine.snapshot())
            guard found <= image.submitted else { throw Finding("recovered transaction \(found)") }
            try expectContent(engine)
        } catch let error as EngineError where error.code == .damaged {}
    }
}
