internal import HornbeamModel

// Merge rules of the model for properties that both sides changed (MRG-6). After a rule was applied, the other side's
// value is the base of the property, as if this context had changed it later.

extension ManagedObject {
    /// Applies merge rules to properties that both sides changed; returns these, in the order of the properties.
    ///
    /// - Parameter includingRelationships: False while merging in memory: a to-one relationship has two ends, which
    ///   the save merges together.
    final func applyMergeRules(
        _ stored: [PropertyValue], includingRelationships: Bool
    ) -> [MergeReport.Property] {
        guard let record else { return [] }
        var merged: [MergeReport.Property] = []
        for index in record.originals.keys.sorted() {
            let property = scope.properties[index]
            guard let rule = property.mergeRule, includingRelationships || property.isAttribute,
                let conflict = conflict(at: index, stored), let result = result(of: rule, conflict, property)
            else { continue }
            settle(property, as: result, over: stored[index])
            merged.append(.init(conflict: conflict, result: result, decision: .rule(rule)))
        }
        return merged
    }

    private func result(
        of rule: MergeRule, _ conflict: PropertyConflict, _ property: PropertyDescription
    ) -> PropertyValue? {
        if rule == .custom { return type(of: self).mergedValue(for: conflict) }
        return rule.merged(
            base: conflict.base, mine: conflict.mine, theirs: conflict.theirs, type: property.attributeType)
    }

    /// All properties that both sides changed, in order.
    final func conflicts(with stored: [PropertyValue]) -> [PropertyConflict] {
        (record?.originals.keys.sorted() ?? []).compactMap { conflict(at: $0, stored) }
    }

    /// The conflict of a property; nil when both sides have equal values, or one did not change it.
    final func conflict(at index: Int, _ stored: [PropertyValue]) -> PropertyConflict? {
        guard let record, let base = record.originals[index], stored[index] != base else { return nil }
        let property = scope.properties[index]
        if property.isRelationship, stored[index] == record.values[index] { return nil }
        return PropertyConflict(
            objectID: objectID, entityName: scope.entity.name, key: property.name, base: base,
            mine: record.values[index], theirs: stored[index])
    }

    /// Gives a property its merged value. The stored value becomes its base.
    final func settle(_ property: PropertyDescription, as result: PropertyValue, over stored: PropertyValue) {
        guard let record else { return }
        let index = property.index
        record.originals[index] = stored
        if result == stored {
            record.originals[index] = nil
            record.removeChange(of: index)
            record.release(index)
        } else {
            record.hold(result, at: index)
            record.changed.insert(index)
        }
    }
}
