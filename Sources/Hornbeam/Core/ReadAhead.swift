internal import HornbeamModel

/// Detects access patterns that predict which objects are read next.
struct ReadAhead {
    /// The number of neighbours to read ahead.
    static let width = 64
    private static let stepsBeforeReadAhead = 3

    private var property: ObjectIdentifier?
    private var steps = 0
    /// The objects created by the last read-ahead, retained so that they exist when the program reads them.
    var made: [ManagedObject] = []

    /// Counts a step along a relationship. Returns true after several steps along the same one.
    mutating func countStep(along property: PropertyDescription) -> Bool {
        if self.property != ObjectIdentifier(property) {
            self.property = ObjectIdentifier(property)
            steps = 0
        }
        steps += 1
        return steps > Self.stepsBeforeReadAhead
    }
}
