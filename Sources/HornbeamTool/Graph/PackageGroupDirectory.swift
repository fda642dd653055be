import Hornbeam

/// Maintainers, sections and tags by name, inserted at their first occurrence.
struct PackageGroupDirectory {
    private(set) var maintainers: [MaintainerName: ManagedObjectID] = [:]
    private(set) var sections: [String: ManagedObjectID] = [:]
    private(set) var tags: [String: ManagedObjectID] = [:]
    /// Objects inserted since the last save, whose IDs are temporary until then.
    private var newMaintainers: [MaintainerName: Maintainer] = [:]
    private var newSections: [String: Section] = [:]
    private var newTags: [String: Tag] = [:]

    /// Reads the groups of a store.
    init(reading context: ManagedObjectContext) throws {
        for object in try context.fetch(FetchRequest<Maintainer>()) {
            maintainers[MaintainerName(name: object.name, address: object.address)] = object.objectID
        }
        for object in try context.fetch(FetchRequest<Section>()) { sections[object.name] = object.objectID }
        for object in try context.fetch(FetchRequest<Tag>()) { tags[object.name] = object.objectID }
        context.reset()
    }

    mutating func maintainer(_ name: MaintainerName, in context: ManagedObjectContext) -> Maintainer {
        if let id = maintainers[name] { return context.object(Maintainer.self, with: id) }
        if let object = newMaintainers[name] { return object }
        let object = Maintainer(context: context)
        object.name = name.name
        object.address = name.address
        newMaintainers[name] = object
        return object
    }

    mutating func section(_ name: String, in context: ManagedObjectContext) -> Section {
        if let id = sections[name] { return context.object(Section.self, with: id) }
        if let object = newSections[name] { return object }
        let object = Section(context: context)
        object.name = name
        newSections[name] = object
        return object
    }

    mutating func tag(_ name: String, in context: ManagedObjectContext) -> Tag {
        if let id = tags[name] { return context.object(Tag.self, with: id) }
        if let object = newTags[name] { return object }
        let object = Tag(context: context)
        object.name = name
        newTags[name] = object
        return object
    }

    /// Call it after a save of the context, before its reset.
    mutating func storePermanentIDs() {
        for (name, object) in newMaintainers { maintainers[name] = object.objectID }
        for (name, object) in newSections { sections[name] = object.objectID }
        for (name, object) in newTags { tags[name] = object.objectID }
        newMaintainers = [:]
        newSections = [:]
        newTags = [:]
    }
}
