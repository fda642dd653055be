public import HornbeamModel

extension PredicateSubject where Self: ManagedObject {
    /// A copy of the values of an object of this class.
    public typealias Snapshot = ObjectSnapshot<Self>

    /// A `Sendable` copy of the object's values, including unsaved changes. To-one relationships are IDs.
    ///
    /// Fires a fault. If this fails, the copy has the values that the getters return, and the context's next fetch or save throws.
    public var snapshot: Snapshot { snapshot(depth: 0) }

    /// A copy of the object's values and those of related objects, with all relationships followed for `depth` steps.
    ///
    /// A step can follow the inverse of the previous one: `book.snapshot(depth: 2)` contains the author, and the author's books.
    /// Takes O(objects within the depth), which can be very many. Use `snapshot(including:)` to select the relationships.
    public func snapshot(depth: Int) -> Snapshot { ObjectSnapshot(self, depth: depth) }

    /// A copy of the object's values, and of the objects in the named relationships: `book.snapshot(including: \.author, \.author.agent)`.
    ///
    /// A path over a to-many relationship continues with `any`: `\.books.any.publisher`. All relationships on a path are included.
    /// A path to something other than a relationship is a programmer error.
    public func snapshot<each Value>(including paths: repeat KeyPath<FetchPath<Self>, FetchPath<each Value>>) -> Snapshot {
        var names: [String] = []
        for path in repeat each paths { names.append(path.format()) }
        return ObjectSnapshot(SnapshotNode(self, following: SnapshotExtent(paths: names)))
    }
}
