public import Observation

/// Observers are notified when a property that they have read changes. This context's code changes it, or a merge of
/// remote changes.
///
/// ```swift
/// withObservationTracking { label.text = employee.name } onChange: { … }
/// ```
/// Works in contexts whose `isObservable` is true; by default this is the view context. Do not apply the macro `@Observable` to a
/// subclass. Objects store no state for observation.
extension ManagedObject: Observable {}

extension ManagedObjectContext {
    /// True if this context's objects notify observers. This makes reading a property slightly slower.
    public var isObservable: Bool {
        get { observers.hub != nil }
        set {
            guard newValue != isObservable else { return }
            observers.hub = newValue ? ObservationHub() : nil
            scopes.forEach { $0.hub = observers.hub }
        }
    }
}
