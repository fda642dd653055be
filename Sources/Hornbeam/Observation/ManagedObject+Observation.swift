public import Observation

/// Observers are notified when a property that they have read changes, by this context's code or by merged
/// remote changes.
///
/// ```swift
/// withObservationTracking { label.text = employee.name } onChange: { … }
/// ```
/// Works in contexts whose `isObservable` is true; by default the view context. The macro `@Observable` is not needed, and must not be
/// applied to a subclass. Objects store no state for observation.
extension ManagedObject: Observable {}

extension ManagedObjectContext {
    /// True when this context's objects notify observers. It makes reading a property slightly slower.
    public var isObservable: Bool {
        get { observers.hub != nil }
        set {
            guard newValue != isObservable else { return }
            observers.hub = newValue ? ObservationHub() : nil
            scopes.forEach { $0.hub = observers.hub }
        }
    }
}
