import HornbeamEngine

extension EngineOracle {
    static let path = "s.hornbeam"

    /// Everything in a snapshot, as the model has it.
    func read(_ snapshot: Snapshot) throws -> State {
        var state = State()
        guard let index = snapshot.tree(named: "index"), let table = snapshot.tree(named: "table") else { return state }
        try snapshot.index(index).forEach(in: KeyRange()) { key, value in
            state.entries[Array(key)] = Array(value)
            return true
        }
        try snapshot.table(table).forEachLeaf { leaf throws(EngineError) in
            for slot in 0..<leaf.count { state.rows[leaf.key(slot)] = try OracleRow(leaf.row(slot)) }
            return true
        }
        return state
    }

    /// The digest of everything in a snapshot.
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

    /// Throws unless the store is exactly the state after its newest transaction.
    func expectSound(_ engine: Engine) throws {
        let number = Int(engine.latest.rawValue)
        guard number < states.count else { throw Finding("transaction \(number) was never begun") }
        guard try digest(try engine.snapshot()) == digests[number] else {
            throw Finding("the content is not that after transaction \(number)")
        }
        let report = try engine.check()
        guard report.problems.isEmpty else { throw Finding(report.problems.joined(separator: " ")) }
    }

    /// Opens what a crash left and judges it: a state between what was promised and what was begun, sound, and able
    /// to go on.
    func judge(_ image: CrashEnumerator.Image) throws {
        let engine = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        let found = engine.latest.rawValue
        guard found >= image.acknowledged, found <= max(image.submitted, image.acknowledged) else {
            throw Finding("recovered transaction \(found)")
        }
        image.disk.mark(.recovered)
        try expectSound(engine)
        let next = min(found + 2, UInt64(states.count - 1))
        try commit(to: engine, through: next, disk: image.disk)
        try expectSound(engine)
        try engine.close()
        let again = try Engine.open(Self.path, fileSystem: image.disk, options: options)
        guard again.latest.rawValue == max(found, next) else { throw Finding("reopening lost commits") }
        try expectSound(again)
        try again.close()
    }
}
