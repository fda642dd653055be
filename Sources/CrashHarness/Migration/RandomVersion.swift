import Hornbeam
import HornbeamEngine
import HornbeamSimulation

/// A version of a model that changes randomly, with plain objects. Each change migrates them one by one, in a simple way.
struct RandomVersion {
    var definition = ModelDefinition()
    var plain = PlainObjects()
    private(set) var random: SimulationRandom
    private var lastName = 0
    /// Descriptions of the changes in this version.
    private(set) var edits: [String] = []
    /// The parts of the model that were added or changed in this version. They must not be changed again before the next version.
    private var added: Set<String> = []
    /// The checksums of earlier versions. A store cannot be migrated back to one of them. Versions that differ only in their indexes
    /// have equal checksums.
    private var pastChecksums: Set<String> = []
    /// The attributes that exchange their names in this version. A later version of equal checksum would be refused, because it lacks their renaming
    /// identifiers.
    private var exchanged: Set<String> = []
    /// The attributes that exchanged their names in the version before. Its renaming identifiers would be mistaken for those of another rename.
    private var exchangedBefore: Set<String> = []

    init(seed: UInt64) {
        random = SimulationRandom(seed: seed)
        for _ in 0 ..< 3 { addEntity() }
        for _ in 0 ..< 4 { addAttribute() }
        for _ in 0 ..< 3 { addRelationship() }
        beginVersion()
    }

    func model() throws -> ManagedObjectModel { try ManagedObjectModel(definition) }

    /// Makes the next version with one to five changes. Makes more changes if the result would equal an earlier version.
    mutating func evolve() throws {
        let checksum = try model().versionChecksum
        let mustDiffer = !exchanged.isEmpty
        beginVersion()
        let count = Int.random(in: 1 ... 5, using: &random)
        repeat {
            edit()
        } while try edits.count < count || pastChecksums.contains(model().versionChecksum)
            || ((mustDiffer || !Self.declarations(in: model()).isEmpty) && model().versionChecksum == checksum)
        if try model().versionChecksum != checksum { pastChecksums.insert(checksum) }
    }

    private mutating func beginVersion() {
        edits = []
        added = []
        (exchangedBefore, exchanged) = (exchanged, [])
        for entity in definition.entities.indices {
            definition.entities[entity].renamingIdentifier = nil
            for place in definition.entities[entity].attributes.indices {
                definition.entities[entity].attributes[place].renamingIdentifier = nil
            }
            for place in definition.entities[entity].relationships.indices {
                definition.entities[entity].relationships[place].renamingIdentifier = nil
                definition.entities[entity].relationships[place].userInfo[Self.emptyMark] = nil
            }
        }
    }

    private mutating func edit() {
        switch Int.random(in: 0 ..< 19, using: &random) {
        case 0, 1: addAttribute()
        case 2: removeAttribute()
        case 3: renameAttribute()
        case 4, 5: changeOptionality()
        case 6: addEntity()
        case 7: removeEntity()
        case 8: renameEntity()
        case 9: moveAttributeUp()
        case 10: moveAttributeDown()
        case 11: addRelationship()
        case 12: removeRelationship()
        case 13: makeToMany()
        case 14: changeOrder()
        case 15: addInverse()
        case 16: changeParent()
        case 17: emptyRelationship()
        default: changeIndexes()
        }
    }

    // MARK: Helpers

    mutating func pick<C: RandomAccessCollection>(_ items: C) -> C.Element? { items.randomElement(using: &random) }

    mutating func chance() -> Bool { Bool.random(using: &random) }

    mutating func newName(_ prefix: String) -> String {
        lastName += 1
        return "\(prefix)\(lastName)"
    }

    mutating func note(_ edit: String) { edits.append(edit) }

    mutating func recordAdded(_ name: String) { added.insert(name) }

    mutating func recordExchange(_ names: [String]) { exchanged.formUnion(names) }

    func wasExchanged(_ name: String) -> Bool { exchangedBefore.contains(name) }

    func isAdded(_ name: String) -> Bool { added.contains(name) }

    func index(_ entity: String) -> Int { definition.entities.firstIndex { $0.name == entity }! }

    /// The names of an entity and its descendants.
    func family(_ entity: String) -> Set<String> {
        var names: Set<String> = [entity]
        while true {
            let more = definition.entities.filter { $0.superentityName.map(names.contains) ?? false }.map(\.name)
            let all = names.union(more)
            if all == names { return names }
            names = all
        }
    }

    mutating func forEachObject(of entities: Set<String>, _ body: (inout PlainObject) -> Void) {
        for key in plain.objects.keys.sorted() where entities.contains(plain.objects[key]!.entity) { body(&plain.objects[key]!) }
    }
}
