/// Checks of a catalogue that was read from a store. The file may be damaged or malicious although its checksums are correct.
extension Catalogue {
    /// The largest next number. Tables in memory have as many places.
    private static let nextNumberMax = 1 << 24
    /// More levels than a model may have.
    private static let levelsMax = 1_000

    /// False when a number was never assigned, two entities have the same number, or an entity inherits from itself.
    var isSound: Bool {
        guard nextNumber > 0, nextNumber <= Self.nextNumberMax else { return false }
        let assigned = 1 ..< nextNumber
        func isAssigned(_ number: Int?) -> Bool { number.map { assigned.contains($0) } ?? true }
        let areEntitiesSound = entities.allSatisfy { entity in
            isAssigned(entity.number) && isAssigned(entity.table)
                && entity.columns.allSatisfy { isAssigned($0.number) && isAssigned($0.entityColumn) }
        }
        return areEntitiesSound && relationships.allSatisfy { isAssigned($0.number) && isAssigned($0.trees) }
            && indexes.allSatisfy { isAssigned($0.number) } && Set(entities.map(\.number)).count == entities.count && hasFiniteLineages
    }

    private var hasFiniteLineages: Bool {
        let pairs = entities.compactMap { entity in entity.parent.map { (entity.name, $0) } }
        let parents = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
        return entities.allSatisfy { entity in
            var parent = entity.parent
            var levels = 0
            while let name = parent, levels < Self.levelsMax {
                parent = parents[name]
                levels += 1
            }
            return parent == nil
        }
    }
}
