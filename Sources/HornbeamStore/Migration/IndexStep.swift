internal import HornbeamEngine
internal import HornbeamModel

/// The migration of one constraint or fetch index of the new version.
struct IndexStep {
    var stored: Catalogue.StoredIndex
    /// True when its entries are built from the rows.
    var isBuilt: Bool
}

extension MigrationDraft {
    mutating func planIndexes() throws(EngineError) {
        for wanted in Catalogue(model: new).indexes {
            guard let entity = new.entitiesByName[wanted.entity] else { continue }
            var step = IndexStep(stored: wanted, isBuilt: true)
            if let kept = try reusableIndex(wanted, entity) {
                step.stored.number = kept.number
                step.isBuilt = false
            } else {
                step.stored.number = takeNumber()
                step.isBuilt = tables.contains { $0.entity.isKind(of: entity) && $0.rowCount > 0 }
            }
            indexes.append(step)
        }
        catalogue.indexes = indexes.map(\.stored)
    }

    /// The index of the old version whose entries the new index can use; nil when there is none.
    private func reusableIndex(_ wanted: Catalogue.StoredIndex, _ entity: EntityDescription) throws(EngineError) -> Catalogue.StoredIndex? {
        for old in old.catalogue.indexes where (old.name == nil) == (wanted.name == nil) {
            guard !indexes.contains(where: { $0.stored.number == old.number }), old.isPolymorphic == wanted.isPolymorphic else { continue }
            if try hasEntries(of: wanted, entity, old) { return old }
        }
        return nil
    }

    private func hasEntries(
        of wanted: Catalogue.StoredIndex, _ entity: EntityDescription, _ old: Catalogue.StoredIndex
    ) throws(EngineError) -> Bool {
        guard let oldEntity = self.old.model.entitiesByName[old.entity], wanted.elements.count == old.elements.count else { return false }
        var covered: Set<UInt32> = []
        for step in tables where step.entity.isKind(of: entity) {
            guard let before = step.oldEntity else { continue }
            covered.insert(oldNumber(of: before))
            if step.rowCount == 0 { continue }
            guard before.isKind(of: oldEntity), isSame(wanted, old, in: step) else { return false }
        }
        for before in oldEntity.concreteDescendants where !covered.contains(oldNumber(of: before)) {
            if try oldRowCount(before) > 0 { return false }
        }
        // The loop skips tables without rows. At least one table must have an equal definition.
        return covered.isEmpty ? false : elementsAgree(wanted, old, entity)
    }

    private func elementsAgree(_ wanted: Catalogue.StoredIndex, _ old: Catalogue.StoredIndex, _ entity: EntityDescription) -> Bool {
        tables.contains { $0.entity.isKind(of: entity) && $0.oldEntity != nil && isSame(wanted, old, in: $0) }
    }

    private func isSame(_ wanted: Catalogue.StoredIndex, _ old: Catalogue.StoredIndex, in step: TableStep) -> Bool {
        guard wanted.condition == old.condition, readsUnchanged(wanted.condition, in: step) else { return false }
        return zip(wanted.elements, old.elements).allSatisfy { new, before in
            guard new.isAscending == before.isAscending, new.collation == before.collation, new.isExpression == before.isExpression else {
                return false
            }
            if new.isExpression == true {
                let names = (try? FetchExpression(format: new.property))?.node.rowProperties ?? []
                return new.property == before.property && names.allSatisfy { unchangedColumnName(of: $0, in: step) == $0 }
            }
            let steps = new.property.split(separator: ".").map(String.init)
            return ([unchangedColumnName(of: steps[0], in: step) ?? ""] + steps.dropFirst()).joined(separator: ".") == before.property
        }
    }

    private func readsUnchanged(_ condition: String?, in step: TableStep) -> Bool {
        guard let condition else { return true }
        let names = (try? FetchPredicate(format: condition))?.node.rowProperties ?? []
        return names.allSatisfy { unchangedColumnName(of: $0, in: step) == $0 }
    }

    /// The old name of a property whose cells do not change; nil when they change.
    private func unchangedColumnName(of name: String, in step: TableStep) -> String? {
        guard let column = step.columns.first(where: { $0.property.name == name }), column.isUnchanged(asNumber: column.stored.number),
            case .column(let old, _) = column.source
        else { return nil }
        return old.name
    }
}
