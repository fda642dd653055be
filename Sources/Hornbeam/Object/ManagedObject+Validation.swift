public import HornbeamModel

extension ManagedObject {
    /// Checks a value as a save would, without setting it (VAL-1).
    ///
    /// - Throws: `unknownKey`; the rule that is broken, or all of them in one error.
    public final func validateValue(_ value: PropertyValue, forKey key: String) throws {
        try entity.property(named: key).validate(value)
    }

    /// All properties of a new object, the changed ones of another (VAL-2).
    final func validateProperties() throws {
        var errors: [HornbeamError] = []
        if isInserted {
            for property in scope.properties { addErrors(of: property, to: &errors) }
        } else if let record {
            for index in record.changed { addErrors(of: scope.properties[index], to: &errors) }
        }
        if let error = HornbeamError.combining(errors) { throw error }
    }

    private func addErrors(of property: PropertyDescription, to errors: inout [HornbeamError]) {
        if property.isAttribute {
            for error in property.errors(for: currentValue(of: property)) { errors.append(named(error)) }
        } else if property.needsValidation, let error = property.error(forCount: destinationCount(of: property)) {
            errors.append(named(error))
        }
    }

    /// The number of objects at the other end that will be there after the save.
    private func destinationCount(of property: PropertyDescription) -> Int {
        if property.isToMany { return memberCount(of: property) }
        guard let target = destination(of: property) else { return 0 }
        return target.state.contains(.deleted) ? 0 : 1
    }

    /// The deny rules (DEL-4): objects that are deleted in the same save do not count.
    final func validateDeletion() throws {
        var errors: [HornbeamError] = []
        let context = scope.context
        for property in scope.properties where property.deleteRule == .deny && property.isRelationship {
            let left = context.destinations(of: property, from: self).filter { !$0.isDeleted && !$0.state.contains(.detached) }
            if !left.isEmpty { errors.append(named(property.denial(count: left.count))) }
        }
        if let error = HornbeamError.combining(errors) { throw error }
    }

    private func named(_ error: HornbeamError) -> HornbeamError {
        var error = error
        error.objectIDs = [objectID]
        return error
    }
}

extension ManagedObjectContext {
    /// Checks deleted, new and changed objects, each kind in the order of change, and reports all errors
    /// together (VAL-3, VAL-4).
    func validate() throws {
        var errors: [HornbeamError] = []
        func check(_ objects: [ManagedObject], _ body: (ManagedObject) throws -> Void) {
            for object in objects {
                do {
                    try body(object)
                } catch let error as HornbeamError {
                    errors.append(error)
                } catch {
                    errors.append(
                        HornbeamError(
                            .validation, "The class refuses the object: \(error).", entity: object.entity.name,
                            objectIDs: [object.objectID]))
                }
            }
        }
        check(tracked.all.filter { $0.state.contains(.deleted) }) { try $0.validateForDelete() }
        check(tracked.all.filter { $0.isInserted && !$0.state.contains(.deleted) }) { try $0.validateForInsert() }
        check(tracked.all.filter(\.isUpdated)) { try $0.validateForUpdate() }
        if let error = HornbeamError.combining(errors) { throw error }
    }
}
