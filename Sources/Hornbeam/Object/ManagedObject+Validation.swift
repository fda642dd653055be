public import HornbeamModel

extension ManagedObject {
    /// Validates a value like a save, without setting it. Returns the value converted to the attribute's type (VAL-1).
    ///
    /// For a relationship, it checks the number of objects in the value.
    /// - Throws: `unknownKey`; `typeMismatch`; the violated rule, or several in one error.
    @discardableResult
    public final func validateValue(_ value: PropertyValue, forKey key: String) throws -> PropertyValue {
        let property = try entity.property(named: key)
        guard property.isAttribute else {
            if let error = property.error(forCount: value.destinationCount) { throw named(error) }
            return value
        }
        let held = try property.coerced(value)
        var errors: [HornbeamError] = []
        addErrors(of: held, property, to: &errors)
        if let error = HornbeamError.combining(errors) { throw error }
        return held
    }

    /// Validates all properties of a new object, or the changed properties of a stored one (VAL-2).
    final func validateProperties() throws {
        var errors: [HornbeamError] = []
        if isInserted {
            for index in scope.properties.indices { addErrors(at: index, to: &errors) }
        } else if let record {
            for index in record.changed { addErrors(at: index, to: &errors) }
        }
        if let error = HornbeamError.combining(errors) { throw error }
    }

    private func addErrors(at index: Int, to errors: inout [HornbeamError]) {
        let property = scope.properties[index]
        if let record, record.held.contains(index), scope.shape.plainChecks[index].passes(record.values[index]) {
            return addOwnErrors(of: record.values[index], property, to: &errors)
        }
        if property.isAttribute {
            addErrors(of: currentValue(of: property), property, to: &errors)
        } else {
            if property.needsValidation, let error = property.error(forCount: destinationCount(of: property)) {
                errors.append(named(error))
            }
            if property.isToOne { addOwnErrors(of: currentValue(of: property), property, to: &errors) }
        }
    }

    private func addErrors(of value: PropertyValue, _ property: PropertyDescription, to errors: inout [HornbeamError]) {
        for error in property.errors(for: value) { errors.append(named(error)) }
        addOwnErrors(of: value, property, to: &errors)
    }

    /// Adds the errors of the class's method `validate`.
    private func addOwnErrors(of value: PropertyValue, _ property: PropertyDescription, to errors: inout [HornbeamError]) {
        do {
            try validate(value, forKey: property.name)
        } catch var error as HornbeamError {
            if error.entity == nil { error.entity = entity.name }
            if error.key == nil { error.key = property.name }
            errors.append(named(error))
        } catch {
            errors.append(
                HornbeamError(
                    .validation, "The class refuses the value of “\(entity.name).\(property.name)”.", entity: entity.name,
                    key: property.name, value: value, objectIDs: [objectID], cause: "\(error)", underlyingError: error))
        }
    }

    /// The number of objects at the other end after the save.
    private func destinationCount(of property: PropertyDescription) -> Int {
        if property.isToMany { return memberCount(of: property) }
        guard let target = destination(of: property) else { return 0 }
        return target.state.contains(.deleted) ? 0 : 1
    }

    /// Checks the delete rule `deny` (DEL-4). Objects that the same save deletes do not prevent the deletion.
    final func validateDeletion() throws {
        let errors = denials.map { named($0.property.denial(count: $0.count)) }
        if let error = HornbeamError.combining(errors) { throw error }
    }

    /// True if a deny rule forbids the deletion.
    final var isDeletionDenied: Bool { !denials.isEmpty }

    private var denials: [(property: PropertyDescription, count: Int)] {
        scope.properties.filter { $0.isRelationship && $0.deleteRule == .deny }.compactMap { property in
            let left = scope.context.destinations(of: property, from: self).filter { !$0.isDeleted && !$0.isDetached }
            return left.isEmpty ? nil : (property, left.count)
        }
    }

    private func named(_ error: HornbeamError) -> HornbeamError {
        var error = error
        error.objectIDs = [objectID]
        return error
    }
}

extension PropertyValue {
    /// The number of objects in a value of a relationship.
    fileprivate var destinationCount: Int {
        switch self {
        case .null: 0
        case .array(let members): members.count
        case .set(let members): members.count
        default: 1
        }
    }
}

extension ManagedObjectContext {
    /// Validates the deleted, then the new, then the changed objects, each in the order of their first changes. Throws all errors
    /// together (VAL-3, VAL-4).
    func validate() throws {
        var errors: [HornbeamError] = []
        func check(_ isConcerned: (ManagedObject) -> Bool, _ body: (ManagedObject) throws -> Void) {
            for object in tracker.objects.all where isConcerned(object) {
                do {
                    try body(object)
                } catch let error as HornbeamError {
                    errors.append(error)
                } catch {
                    errors.append(
                        HornbeamError(
                            .validation, "The class refuses the object.", entity: object.entity.name, objectIDs: [object.objectID],
                            cause: "\(error)", underlyingError: error))
                }
            }
        }
        check { $0.state.contains(.deleted) } _: { try $0.validateForDelete() }
        check { $0.isInserted && !$0.state.contains(.deleted) } _: { try $0.validateForInsert() }
        check(\.isUpdated) { try $0.validateForUpdate() }
        if let error = HornbeamError.combining(errors) { throw error }
    }
}
