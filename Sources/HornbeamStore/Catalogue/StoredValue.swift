/// The names of the store's own metadata.
enum StoredValue {
    static let catalogue = "catalogue"
    static let model = "model"
    static let metadata = "metadata"
}
