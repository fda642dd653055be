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
        for (reference, row) in zip(references, try inputs(of: program, for: references)) {
            groups.add(row, object: reference.key)
        }
        for object in objects { groups.add(object.inputs, object: object.key) }
        return DictionaryAnswer(rows: try groups.rows(), work: found.work)
    }

    /// The inputs of a program for objects, in the same order.
    package func inputs(of program: DictionaryProgram, for objects: [ObjectReference]) throws -> [[PropertyValue]] {
        if let only { return try only.inputs(of: program, for: objects) }
        var rows = [[PropertyValue]](repeating: [], count: objects.count)
        for (slot, places) in Dictionary(grouping: objects.indices, by: { objects[$0].slot }) {
            let found = try part(slot).inputs(of: program, for: places.map { objects[$0].local })
            for (place, row) in zip(places, found) { rows[place] = row }
        }
        return rows
    }
}
