internal import HornbeamEngine
internal import HornbeamModel

/// Converts and computes values. A value that cannot be computed is reported with its object.
extension RowRewrite {
    func computed(
        _ source: PropertyMapping.Source, _ property: PropertyDescription, _ row: RowView, _ key: UInt64
    ) throws -> PropertyValue {
        let object = ObjectReference(step.entity, key)
        let value: PropertyValue
        switch source {
        case .converted(let name):
            let column = old.column(try old.entity.property(named: name))
            value = try column.value(in: row, schema: build.oldReader.schema, origin: build.oldReader.origins)
        case .expression(let expression):
            guard let found = try result(of: expression, property, row, object) else { return .null }
            value = found
        default: return .null
        }
        guard let converted = value.converted(to: property.attributeType), let fitting = try? property.coerced(converted) else {
            recordViolation(
                .typeMismatch, "The value of “\(property.name)” cannot be converted to \(property.attributeType).", property.name,
                [object], value: value)
            return .null
        }
        return fitting.isNull ? missing(property, object) : fitting
    }

    private func result(
        of expression: FetchExpression, _ property: PropertyDescription, _ row: RowView, _ object: ObjectReference
    ) throws -> PropertyValue? {
        let subject = StoredObject(ObjectReference(old.entity, object.key), row: row, table: old, snapshot: try build.oldSnapshot())
        do {
            if let value = try expression.replacingSourceVariable.value(with: subject).propertyValue { return value }
            recordViolation(
                .typeMismatch, "The expression for “\(property.name)” does not give an attribute value.", property.name, [object])
        } catch let error as EngineError {
            throw error
        } catch {
            let found = error as? HornbeamError
            recordViolation(
                found?.code ?? .predicateEvaluation,
                "“\(property.name)” cannot be computed: \(found?.message ?? "the closure threw \(error)")", property.name, [object],
                value: found?.value)
        }
        return nil
    }

    /// The value for a property without one: null, or the default value. Reports a required property without a default value.
    private func missing(_ property: PropertyDescription, _ object: ObjectReference) -> PropertyValue {
        guard !property.isOptional else { return .null }
        if property.defaultValue.isNull, build.checksRequired {
            recordViolation(.missingRequiredValue, "“\(property.name)” is required, and there is no value for it.", property.name, [object])
        }
        return property.migratedDefaultValue
    }
}
