public import Foundation

extension PersistentStoreCoordinator {
    /// Stores were added, removed or moved (PSC-17).
    public static let storesDidChangeNotification = Notification.Name("HornbeamStoresDidChange")
    /// A store is about to be removed. Its objects can still be read and saved (PSC-17).
    public static let willRemoveStoreNotification = Notification.Name("HornbeamWillRemoveStore")
    /// The key of the `StoresChange` in a notification's `userInfo`.
    public static let storesKey = "stores"

    func post(_ name: Notification.Name, _ change: StoresChange) {
        NotificationCenter.default.post(name: name, object: self, userInfo: [Self.storesKey: change])
    }
}

extension Notification {
    /// The change in a coordinator's notification; nil for other notifications.
    public var storesChange: StoresChange? { userInfo?[PersistentStoreCoordinator.storesKey] as? StoresChange }
}
