public import HornbeamModel

extension PredicateSubject where Self: ManagedObject {
    /// The values of one of these objects as a value.
    public typealias Snapshot = ObjectSnapshot<Self>

    /// The object's values, unsaved changes included, as a value that may go to any actor. Relationships to one object are IDs.
    ///
    /// A fault is filled. Where that fails, the values are those that the getters show, and the context's next fetch or save throws.
    public var snapshot: Snapshot { snapshot(depth: 0) }

    /// The object's values with those of related objects, all relationships followed as many steps as `depth` says.
    ///
    /// Each step follows inverse relationships too: `book.snapshot(depth: 2)` contains the author, and the author's books.
    /// Takes O(objects within that depth), which grows quickly; `snapshot(including:)` names the relationships instead.
    public func snapshot(depth: Int) -> Snapshot { ObjectSnapshot(self, depth: depth) }

    /// The object's values with those of the objects behind the named relationships: `book.snapshot(including: \.author, \.author.agent)`.
    ///
    /// A path over a relationship to many objects continues with `any`: `\.books.any.publisher`. Relationships on the way are included.
    /// Ends the process with a sentence for a path that names no relationship.
    public func snapshot<each Value>(including paths: repeat KeyPath<FetchPath<Self>, FetchPath<each Value>>) -> Snapshot {
        var names: [String] = []
        for path in repeat each paths { names.append(path.format()) }
        return ObjectSnapshot(SnapshotNode(self, following: SnapshotExtent(paths: names)))
    }
}
