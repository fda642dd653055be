internal import HornbeamModel

/// Detects access patterns that predict which objects are read next.
struct ReadAhead {
    /// The number of neighbours to read ahead.
    static let width = 64
    private static let stepsBeforeReadAhead = 3

    /// The largest distance of the keys of two objects that one loop probably visits.
    private static let keyDistanceMax: UInt64 = 1024

    private var property: ObjectIdentifier?
    private var key: UInt64 = 0
    private var steps = 0
    /// The objects created by the last read-ahead, retained so that they exist when the program reads them.
    var made: [ManagedObject] = []

    /// Counts a step along a relationship of the object with a key. Returns true after several steps along the same one, from objects with near keys: single
    /// objects that are looked up one after the other predict nothing.
    mutating func countStep(along property: PropertyDescription, from key: UInt64) -> Bool {
        let distance = key > self.key ? key - self.key : self.key - key
        if self.property != ObjectIdentifier(property) || distance > Self.keyDistanceMax { steps = 0 }
        self.property = ObjectIdentifier(property)
        self.key = key
        steps += 1
        return predictsSteps
    }

    /// True if the last steps were along one relationship from objects with near keys.
    var predictsSteps: Bool { steps > Self.stepsBeforeReadAhead }
}
