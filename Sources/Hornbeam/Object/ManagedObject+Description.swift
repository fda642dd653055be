internal import HornbeamModel

/// `Event x-hornbeam://…/Event/p12 (fault)`, or with the values instead of “fault”. Fires no fault.
extension ManagedObject: CustomStringConvertible {
    public final var description: String {
        "\(scope.entity.name) \(objectID) (\(stateText))\(valuesText)"
    }

    private var stateText: String {
        if state.contains(.detached) { return "without context" }
        var words: [String] = []
        if isFault { words.append("fault") }
        if isInserted { words.append("inserted") }
        if isUpdated { words.append("updated") }
        if isDeleted { words.append("deleted") }
        if isFailed { words.append("failed") }
        return words.isEmpty ? "unchanged" : words.joined(separator: ", ")
    }

    private var valuesText: String {
        guard !isFault, !(isDetached && record == nil), unsafe scope.livingContext != nil else { return "" }
        let values = scope.properties.map { property in
            property.isToMany
                ? "\(property.name): \(memberCount(of: property)) objects"
                : "\(property.name): \(currentValue(of: property).expandedDescription)"
        }
        return " {" + values.joined(separator: ", ") + "}"
    }
}
