public import HornbeamModel

extension PredicateSubject where Self: ManagedObject {
    /// A copy of the values of an object of this class.
    public typealias Snapshot = ObjectSnapshot<Self>

    /// A `Sendable` copy of the object's values, unsaved changes included. To-one relationships are IDs.
    ///
    /// Fires a fault. If this fails, the values are those of the getters, and the context's next fetch or save throws.
    public var snapshot: Snapshot { snapshot(depth: 0) }

    /// A copy of the object's values and those of related objects, with all relationships followed for `depth` steps.
    ///
    /// Each step follows inverse relationships too: `book.snapshot(depth: 2)` contains the author, and the author's books.
    /// Takes O(objects within that depth), which grows quickly; `snapshot(including:)` selects the relationships instead.
    public func snapshot(depth: Int) -> Snapshot { ObjectSnapshot(self, depth: depth) }

    /// A copy of the object's values and those of the named relationships' objects: `book.snapshot(including: \.author, \.author.agent)`.
    ///
    /// A path over a to-many relationship continues with `any`: `\.books.any.publisher`. Relationships on the path are included.
    /// A path that names no relationship is a programmer error.
    public func snapshot<each Value>(including paths: repeat KeyPath<FetchPath<Self>, FetchPath<each Value>>) -> Snapshot {
        var names: [String] = []
        for path in repeat each paths { names.append(path.format()) }
        return ObjectSnapshot(SnapshotNode(self, following: SnapshotExtent(paths: names)))
    }
}
