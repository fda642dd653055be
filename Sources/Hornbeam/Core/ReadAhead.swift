internal import HornbeamModel

/// Detects access patterns that predict the next objects.
struct ReadAhead {
    /// The number of neighbours to read ahead.
    static let width = 64
    private static let patience = 3

    private var property: ObjectIdentifier?
    private var steps = 0
    /// The objects created last, retained so that they exist when they are accessed.
    var made: [ManagedObject] = []

    /// Counts a step; true after several steps of the same kind.
    mutating func countStep(along property: PropertyDescription) -> Bool {
        if self.property != ObjectIdentifier(property) {
            self.property = ObjectIdentifier(property)
            steps = 0
        }
        steps += 1
        return steps > Self.patience
    }
}
