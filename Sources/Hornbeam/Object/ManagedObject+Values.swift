internal import Foundation
internal import HornbeamModel
internal import HornbeamStore

// Access to a property as a `PropertyValue`: the common implementation of access by token, by name and by predicates.

extension ManagedObject {
    /// The current value. A to-one relationship is an ID, a to-many relationship a set or array of IDs.
    final func propertyValue(of property: PropertyDescription) -> PropertyValue {
        property.isToMany ? collectionValue(members(of: property), of: property) : currentValue(of: property)
    }

    /// The current value of an attribute or a to-one relationship.
    final func currentValue(of property: PropertyDescription) -> PropertyValue {
        scope.hub?.recordAccess(self, property.index)
        if let record, record.held.contains(property.index) { return record.values[property.index] }
        guard state.contains(.fault) else { return storedValue(of: property) }
        // `awakeFromFetch` may set the value.
        fireIfNeeded()
        if let record, record.held.contains(property.index) { return record.values[property.index] }
        return storedValue(of: property)
    }

    /// The value in the object's row, without unsaved changes.
    final func storedValue(of property: PropertyDescription) -> PropertyValue {
        if let row = record?.frozenRow { return row.values[property.index] }
        guard isReadable, !property.isTransient else { return .null }
        fireIfNeeded()
        if let row = record?.frozenRow { return row.values[property.index] }
        if let value = cellValue(of: property) { return value }
        do {
            var place = hint
            let value = try scope.readingSnapshot().value(of: property, scope.entity, key, &place)
            hint = place
            if let value { return value }
            markRowMissing()
        } catch {
            markFailed(error)
        }
        return .null
    }

    /// The value in the cell of a located row, for the most common types; nil if `StoreSnapshot.value` must read it.
    private final func cellValue(of property: PropertyDescription) -> PropertyValue? {
        guard let cells = scope.cells else { return nil }
        return switch property.attributeType {
        case .string: cells.plainString(property.index, hint).map { .string($0) }
        case .integer16, .integer32, .integer64: cells.plainInteger(property.index, hint).map { .int($0) }
        case .boolean: cells.plainInteger(property.index, hint).map { .bool($0 != 0) }
        case .double: cells.plainDouble(property.index, hint).map { .double($0) }
        default: nil
        }
    }

    /// False for objects without a readable row: new ones, detached ones, and those whose row is deleted or unreadable.
    final var isReadable: Bool { state.isDisjoint(with: [.inserted, .gone, .failed, .detached]) }

    /// Sets the value of an attribute or a to-one relationship, without changing the inverse.
    ///
    /// Setting an equal value has no effect (section 1.29, no. 10). A detached object does not change.
    final func assign(_ value: PropertyValue, to property: PropertyDescription) {
        guard !isDetached else { return }
        let index = property.index
        let old = currentValue(of: property)
        guard old != value else { return }
        let record = writableRecord()
        if state.contains(.silent) { return record.hold(value, at: index) }
        if let stack = undoStack {
            stack.register(.set(self, property, old: undoValue(old, of: property), new: undoValue(value, of: property)))
        }
        if !record.changed.contains(index), !isInserted { record.originals[index] = old }
        record.hold(value, at: index)
        if !isInserted, record.originals[index] == value {
            revert(property, in: record)
        } else {
            record.changed.insert(index)
        }
        record.recordAssignment(of: index)
        scope.context.recordChange(of: self)
        scope.hub?.notifyOfChange(self, index)
    }

    /// The fast path of `assign`: sets a value of a new object that is already tracked and has no observer. Returns false if `assign` is required.
    final func setValueOfNewObject(_ value: PropertyValue, at index: Int) -> Bool {
        let noted: ObjectState = [.inserted, .tracked, .touched, .changedSinceWillSave]
        guard state.isSuperset(of: noted), !state.contains(.silent), scope.hub == nil, let record,
            scope.shape.plainChecks[index].type != nil, let context = unsafe scope.livingContext, context.undoStack == nil
        else { return false }
        if case .dictionary = value { return false }
        if record.values[index] == value { return true }
        record.values[index] = value
        record.recordAssignment(of: index)
        if !record.held.contains(index) || !record.changed.contains(index) {
            record.held.insert(index)
            record.changed.insert(index)
        }
        context.tracker.countEdit()
        return true
    }

    /// Removes the change of a property whose value equals the stored one again.
    final func revert(_ property: PropertyDescription, in record: ObjectRecord) {
        record.removeChange(of: property.index)
        record.originals[property.index] = nil
        if !property.isTransient { record.release(property.index) }
    }

    /// The record, created if missing. Its `version` is the row's version, which the next save compares.
    final func writableRecord() -> ObjectRecord {
        if let record, record.version != 0 || isInserted { return record }
        let record = self.record ?? ObjectRecord(propertyCount: scope.properties.count)
        self.record = record
        record.version = storedVersion()
        if scope.isNested, let snapshot = unsafe scope.livingContext?.snapshot { freezeRow(from: snapshot) }
        return record
    }

    /// The version of the object's row; 0 if there is none.
    final func storedVersion() -> UInt32 {
        if let row = record?.frozenRow { return row.version }
        guard isReadable else { return 0 }
        fireIfNeeded()
        if let row = record?.frozenRow { return row.version }
        do {
            var place = hint
            let version = try scope.readingCells().version(key, &place)
            hint = place
            if let version { return version }
            markRowMissing()
        } catch {
            markFailed(error)
        }
        return 0
    }
}
