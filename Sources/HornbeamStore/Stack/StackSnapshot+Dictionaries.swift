package import HornbeamModel

/// Dictionary results over several stores. A single store groups its columns; with several stores, objects are grouped one by one.
extension StackSnapshot {
    /// The dictionaries of a fetch with groups or totals; `objects` are added with their inputs.
    package func groups(
        _ fetch: ValidatedFetch, _ program: DictionaryProgram, excluding: Set<UInt64>, adding objects: [GroupedObject]
    ) throws -> DictionaryAnswer {
        if let only, fetch.request.affectedStores == nil {
            return try only.groups(fetch, program, excluding: excluding, adding: objects)
        }
        let found = try self.fetch(fetch.withoutOrder, excluding: excluding)
        var groups = GroupTable(program)
        let references = found.references
        let columns = try columns(program.inputs, of: references)
        for (place, reference) in references.enumerated() { groups.add(columns.map { $0[place] }, object: reference.key) }
        for object in objects { groups.add(object.inputs, object: object.key) }
        return DictionaryAnswer(rows: try groups.rows(), work: found.work)
    }

    /// The snapshot of the only store, if a request reads it; nil if there are several stores.
    package func only(for request: FetchDescription) -> StoreSnapshot? { request.affectedStores == nil ? only : nil }

    /// The values of expressions for objects: for each expression its values in the order of `objects`.
    package func columns(_ inputs: [FetchExpression.Node], of objects: [ObjectReference]) throws -> [[PropertyValue]] {
        if let only { return try only.columns(inputs, of: objects) }
        var columns = inputs.map { _ in [PropertyValue](repeating: .null, count: objects.count) }
        for (slot, places) in Dictionary(grouping: objects.indices, by: { objects[$0].slot }) {
            let found = try part(slot).columns(inputs, of: places.map { objects[$0].local })
            for input in inputs.indices {
                for (position, place) in places.enumerated() { columns[input][place] = found[input][position] }
            }
        }
        return columns
    }
}
