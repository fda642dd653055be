/// A weak reference to a child context.
struct WeakContext {
    weak var context: ManagedObjectContext?
}
