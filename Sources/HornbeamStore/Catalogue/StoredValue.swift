/// The names of the values that this module stores in the engine.
enum StoredValue {
    static let catalogue = "catalogue"
    static let model = "model"
    static let metadata = "metadata"
    /// The metadata that the code of a running stage has set.
    static let stageMetadata = "migration metadata"
}
