/// Work with a context, as a value or an object of the app that a `ContextOperation` runs (ASY-4).
///
/// ```swift
/// struct DeleteOldBooks: ContextWork {
///     let year: Int
///
///     func performWork(in context: ManagedObjectContext) throws -> Int {
///         try context.delete(Book.self) { $0.year < year }
///     }
/// }
///
/// queue.addOperation(ContextOperation(DeleteOldBooks(year: 1800), in: container))
/// ```
public protocol ContextWork<Output>: Sendable {
    /// The type of the result.
    associatedtype Output: Sendable

    /// Does the work with a new context, which is saved when it returns.
    ///
    /// Nothing is saved when it throws, or when the operation is cancelled before the save.
    func performWork(in context: ManagedObjectContext) throws -> Output

    /// Called once, after the save or the failure, on the thread of the operation. The default does nothing.
    func finish(_ result: Result<Output, any Error>)
}

extension ContextWork {
    public func finish(_ result: Result<Output, any Error>) {}
}
