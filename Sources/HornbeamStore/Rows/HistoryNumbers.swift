internal import HornbeamModel

/// Properties by their numbers in the catalogue. History names properties by number, so that records survive renaming.
struct HistoryNumbers: Sendable {
    /// Indexed by `entity.index`: numbers by property index, 0 for properties that are not stored.
    private let numbers: [[UInt64]]
    /// Indexed by `entity.index`: property indexes by number.
    private let indexes: [[UInt64: Int]]
    /// Indexed by `entity.index`: the attributes whose values history preserves when their object is deleted (ATT-15).
    private let preserved: [[PropertyDescription]]

    init(_ catalogue: Catalogue, _ model: ManagedObjectModel) {
        numbers = model.entities.map { Self.numbers(of: $0, catalogue) }
        indexes = numbers.map { numbers in
            Dictionary(numbers.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        }
        preserved = model.entities.map { entity in
            entity.properties.filter {
                $0.attribute?.preservesValueInHistoryOnDeletion == true && !$0.isTransient
            }
        }
    }

    private static func numbers(of entity: EntityDescription, _ catalogue: Catalogue) -> [UInt64] {
        var numbers = [UInt64](repeating: 0, count: entity.properties.count)
        for column in catalogue.columns(of: entity.name) {
            if let property = entity.propertiesByName[column.name] { numbers[property.index] = UInt64(column.number) }
        }
        for property in entity.properties where property.isToMany {
            let stored = catalogue.relationships.first {
                $0.entity == property.entity.name && $0.name == property.name
            }
            if let stored { numbers[property.index] = UInt64(stored.number) }
        }
        return numbers
    }

    /// 0 for a property that is not stored.
    func number(of property: Int, entity: Int32) -> UInt64 { numbers[Int(entity)][property] }

    /// Nil when the model no longer has the property.
    func property(number: UInt64, entity: Int32) -> Int? { number == 0 ? nil : indexes[Int(entity)][number] }

    func preserved(_ entity: Int32) -> [PropertyDescription] { preserved[Int(entity)] }
}
