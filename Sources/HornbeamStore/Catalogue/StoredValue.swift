/// The names of the values that this module stores in the engine.
enum StoredValue {
    static let catalogue = "catalogue"
    static let model = "model"
    static let metadata = "metadata"
}
