internal import HornbeamModel

// The model's merge rules for properties that both sides changed (MRG-6). After a rule was applied, the other side's
// value is the original of the property, as if this context had changed the property later.

extension ManagedObject {
    /// Applies merge rules to properties that both sides changed. Returns these properties with their results, in order.
    ///
    /// - Parameter includingRelationships: False for a merge in memory. Both ends of a to-one relationship must be merged together, which
    ///   the save does.
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
            setMergedValue(result, of: property, over: stored[index])
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

    /// The conflicts of all properties that both sides changed, in order.
    final func conflicts(with stored: [PropertyValue]) -> [PropertyConflict] {
        (record?.originals.keys.sorted() ?? []).compactMap { conflict(at: $0, stored) }
    }

    /// The conflict of a property; nil if one side did not change it, or both sides set a relationship to the same object.
    final func conflict(at index: Int, _ stored: [PropertyValue]) -> PropertyConflict? {
        guard let record, let base = record.originals[index], stored[index] != base else { return nil }
        let property = scope.properties[index]
        if property.isRelationship, stored[index] == record.values[index] { return nil }
        return PropertyConflict(
            objectID: objectID, entityName: scope.entity.name, key: property.name, base: base,
            mine: record.values[index], theirs: stored[index])
    }

    /// Sets a property to its merged value. The stored value becomes its original.
    final func setMergedValue(_ result: PropertyValue, of property: PropertyDescription, over stored: PropertyValue) {
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
