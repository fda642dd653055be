public import Observation

/// Observers see which properties they read, and hear when one of them changes: by this context's code, or by others' saves that it
/// takes in.
///
/// ```swift
/// withObservationTracking { label.text = employee.name } onChange: { … }
/// ```
/// In contexts whose `isObservable` is true: the view context, unless told otherwise. The macro `@Observable` is not needed, and must not be
/// put on a subclass. Nothing is kept per object.
extension ManagedObject: Observable {}

extension ManagedObjectContext {
    /// True when observers hear of changes to this context's objects. Reading a property takes a little longer then.
    public var isObservable: Bool {
        get { observers.hub != nil }
        set {
            guard newValue != isObservable else { return }
            observers.hub = newValue ? ObservationHub() : nil
            scopes.forEach { $0.hub = observers.hub }
        }
    }
}
