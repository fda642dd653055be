internal import Foundation
public import HornbeamModel
internal import HornbeamStore

// Typed access by token. The generic accessor is inlined into the caller, where the value's type is
// known. It calls one of four functions for concrete types, so no value is boxed.

extension ManagedObject {
    /// The value of an attribute: `self[Event.latitude]`.
    ///
    /// A required attribute without a value has its type's zero, until validation reports it.
    /// For an unchanged object with a known row, a read decodes the cell of the row; numbers need no allocation.
    /// A token that does not match the entity is a programmer error.
    @inlinable
    public final subscript<Value: AttributeValue>(_ token: Attribute<Value>) -> Value {
        get {
            switch Value.cellForm {
            case .integer:
                if let cell = integerCell(token.nameID) {
                    if let value = Value(integerCell: cell) { return value }
                } else {
                    return Value.nullCell ?? Value.unsetValue
                }
            case .double:
                if let cell = doubleCell(token.nameID) {
                    if let value = Value(doubleCell: cell) { return value }
                } else {
                    return Value.nullCell ?? Value.unsetValue
                }
            case .string:
                if let cell = stringCell(token.nameID) {
                    if let value = Value(stringCell: cell) { return value }
                } else {
                    return Value.nullCell ?? Value.unsetValue
                }
            case .other:
                break
            }
            return decodedValue(of: token)
        }
        set { setValue(newValue.propertyValue, token.nameID) }
    }

    @usableFromInline
    final func decodedValue<Value: AttributeValue>(of token: Attribute<Value>) -> Value {
        let property = scope.property(token.nameID)
        return decoded(currentValue(of: property), of: property)
    }

    /// Converts a value to the token's type.
    ///
    /// A value that the type cannot decode was stored by another version of the program. The getter then returns the default or the empty value,
    /// and the context reports the failure at its next fetch or save. A token with another type than the attribute is a programmer error.
    final func decoded<Value: AttributeValue>(_ value: PropertyValue, of property: PropertyDescription) -> Value {
        if let decoded = Value(propertyValue: value) { return decoded }
        if case .null = value, !(Value.self is any CodedType.Type) { return Value.unsetValue }
        if !value.isNull { recordUnknownValue(of: property, Value.self) }
        return Value(propertyValue: property.defaultValue) ?? Value.unsetValue
    }

    private func recordUnknownValue(of property: PropertyDescription, _ type: any AttributeValue.Type) {
        require(
            [.transformable, .undefined].contains(type.attributeType)
                || property.attribute.map { $0.type == .undefined || type.attributeType.fits($0.type) } ?? false,
            "\(scope.entity.name).\(property.name) holds a value that \(type) cannot show. Declare the "
                + "token with the attribute's type, or with PropertyValue.")
        let error = HornbeamError(
            .typeMismatch,
            "The stored value of “\(scope.entity.name).\(property.name)” cannot be decoded as \(type): another version of the program "
                + "wrote it. Read it by name, or set the property again.",
            entity: scope.entity.name, key: property.name, objectIDs: [objectID])
        unsafe scope.livingContext?.recordFailure(error, of: self)
    }

    @usableFromInline
    final func setValue(_ value: PropertyValue, _ nameID: PropertyNameID) {
        let index = scope.index(of: nameID)
        if setValueOfNewObject(value, at: index) { return }
        let property = scope.properties[index]
        // A composite's elements are converted to their stored form. Validation reports elements that cannot be converted.
        if case .dictionary = value { return assign((try? property.coerced(value)) ?? value, to: property) }
        assign(value, to: property)
    }

    @usableFromInline
    final func integerCell(_ nameID: PropertyNameID) -> Int64? {
        let index = scope.index(of: nameID)
        if isPlain(index, .integer), let cell = scope.cells?.plainInteger(index, hint) { return cell }
        return integerCell(at: index)
    }

    @inline(never)
    private func integerCell(at index: Int) -> Int64? {
        scope.hub?.recordAccess(self, index)
        guard isInCell(index, .integer) else { return currentValue(of: scope.properties[index]).integerCell }
        if let cell = scope.cells?.plainInteger(index, hint) { return cell }
        return readCell { cells, place in try cells.integer(index, key, &place) }
    }

    @usableFromInline
    final func doubleCell(_ nameID: PropertyNameID) -> Double? {
        let index = scope.index(of: nameID)
        if isPlain(index, .double), let cell = scope.cells?.plainDouble(index, hint) { return cell }
        return doubleCell(at: index)
    }

    @inline(never)
    private func doubleCell(at index: Int) -> Double? {
        scope.hub?.recordAccess(self, index)
        guard isInCell(index, .double) else { return currentValue(of: scope.properties[index]).doubleCell }
        if let cell = scope.cells?.plainDouble(index, hint) { return cell }
        return readCell { cells, place in try cells.double(index, key, &place) }
    }

    @usableFromInline
    final func stringCell(_ nameID: PropertyNameID) -> String? {
        let index = scope.index(of: nameID)
        if isPlain(index, .string), let cell = scope.cells?.plainString(index, hint) { return cell }
        return stringCell(at: index)
    }

    @inline(never)
    private func stringCell(at index: Int) -> String? {
        scope.hub?.recordAccess(self, index)
        guard isInCell(index, .string) else {
            guard case .string(let text) = currentValue(of: scope.properties[index]) else { return nil }
            return text
        }
        if let cell = scope.cells?.plainString(index, hint) { return cell }
        return readCell { cells, place in try cells.string(index, key, &place) }
    }

    /// Reads a cell of the row by its key, and stores the location of the row. Nil for a null, and after a failure, which is recorded.
    @inline(__always)
    private func readCell<Cell>(_ read: (CellReader, inout RowHint) throws -> Cell??) -> Cell? {
        do {
            var place = hint
            let cell = try read(scope.readingCells(), &place)
            hint = place
            if let cell { return cell }
            markRowMissing()
        } catch { markFailed(error) }
        return nil
    }

    /// True if the value is the one in the row's cell, the row is located, and there is no observer.
    @inline(__always)
    final func isPlain(_ index: Int, _ form: CellForm) -> Bool {
        state.isDisjoint(with: .notPlain) && record == nil && scope.hub == nil && scope.isCell(index, of: form)
    }

    /// Fires a fault, then returns true if the value is the one in the row's cell.
    @inline(__always)
    final func isInCell(_ index: Int, _ form: CellForm) -> Bool {
        if !state.isDisjoint(with: .notPlain) {
            fireIfNeeded()
            guard isReadable else { return false }
        }
        if let record, record.frozenRow != nil || record.held.contains(index) { return false }
        return scope.isCell(index, of: form)
    }
}

extension PropertyValue {
    /// The value in the form of an integer cell.
    fileprivate var integerCell: Int64? {
        switch self {
        case .int(let number): number
        case .bool(let truth): truth ? 1 : 0
        default: nil
        }
    }

    /// The value in the form of a double cell.
    fileprivate var doubleCell: Double? {
        switch self {
        case .double(let number): number
        case .date(let date): date.timeIntervalSinceReferenceDate
        default: nil
        }
    }
}
