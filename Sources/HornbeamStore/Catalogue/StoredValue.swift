/// The names of the values that a store keeps of itself.
enum StoredValue {
    static let catalogue = "catalogue"
    static let model = "model"
    static let metadata = "metadata"
}
