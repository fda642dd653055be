internal import HornbeamModel

/// The recorded changes of a context's objects, for undo and redo (section 1.18).
///
/// ```swift
/// context.undoStack = UndoStack()
/// event.name = "Renamed"
/// context.processPendingChanges()      // the end of an event; `perform` calls it automatically
/// context.undo()
/// context.redo()
/// ```
/// The changes of one event are one step; `group` combines several events. Saving does not clear the stack. The undo of a saved change is
/// a new change: a saved insertion is undone by a deletion, and a saved deletion by an insertion of the object under
/// its old ID. `rollback` and `reset` clear the stack. The stack retains the objects in its steps.
///
/// It replaces Foundation's `UndoManager`, which does not exist on Linux (UND-5). A stack belongs to one context.
public final class UndoStack {
    /// The maximum number of steps that can be undone; 0 for no limit. The oldest are removed first.
    public var levelsOfUndo: Int { didSet { trim() } }

    private(set) var undoable: [UndoGroup] = []
    private(set) var redoable: [UndoGroup] = []
    /// The changes since the last step was closed.
    private var open = UndoGroup()
    private var depth = 0
    private var disabled = 0

    /// An empty stack with at most the given number of steps; 0 for no limit.
    public init(levelsOfUndo: Int = 0) { self.levelsOfUndo = levelsOfUndo }

    /// The number of steps that can be undone, including the open one.
    public var undoCount: Int { undoable.count + (open.steps.isEmpty ? 0 : 1) }
    /// The number of steps that can be redone.
    public var redoCount: Int { redoable.count }
    /// True if a step can be undone.
    public var canUndo: Bool { undoCount > 0 }
    /// True if a step can be redone.
    public var canRedo: Bool { redoCount > 0 }

    /// The name of the next step to undo, for a menu.
    public var undoActionName: String? { open.steps.isEmpty ? undoable.last?.name : open.name }
    /// The name of the next step to redo.
    public var redoActionName: String? { redoable.last?.name }

    /// Names the open step; without an open step, the last one.
    public func setActionName(_ name: String) {
        if depth > 0 || !open.steps.isEmpty || undoable.isEmpty {
            open.name = name
        } else {
            undoable[undoable.count - 1].name = name
        }
    }

    /// Combines all changes of the body into one step, even if they belong to several events. Groups can be nested.
    public func group<Result>(_ name: String? = nil, _ body: () throws -> Result) rethrows -> Result {
        beginGrouping()
        defer { endGrouping() }
        if let name { setActionName(name) }
        return try body()
    }

    /// Begins a step that ends with the matching `endGrouping()`.
    public func beginGrouping() {
        closeEvent()
        depth += 1
    }

    /// Ends the step of `beginGrouping()`.
    public func endGrouping() {
        require(depth > 0, "endGrouping() was called without beginGrouping().")
        depth -= 1
        // A group without changes is no step, and its name is not that of the next one.
        if depth == 0, open.steps.isEmpty { open = UndoGroup() }
        closeEvent()
    }

    /// Runs the body without recording its changes, for example for an import.
    ///
    /// Earlier steps can still be undone. Undoing an earlier change of a property replaces the value that the body set.
    public func withoutRegistration<Result>(_ body: () throws -> Result) rethrows -> Result {
        disabled += 1
        defer { disabled -= 1 }
        return try body()
    }

    /// Removes all steps.
    public func removeAllActions() {
        undoable.removeAll()
        redoable.removeAll()
        open = UndoGroup()
    }

    // MARK: For the context

    var isRegistering: Bool { disabled == 0 }
    var isGrouping: Bool { depth > 0 }

    func register(_ step: UndoStep) {
        guard isRegistering else { return }
        redoable.removeAll()
        open.append(step)
    }

    /// Closes the open step. Called at the end of an event.
    func closeEvent() {
        guard depth == 0, !open.steps.isEmpty else { return }
        undoable.append(open)
        open = UndoGroup()
        trim()
    }

    /// Moves the last step to the redo list. The body undoes it.
    func undoLast(_ body: (UndoGroup) -> Void) {
        guard let group = undoable.popLast() else { return }
        withoutRegistration { body(group) }
        redoable.append(group)
    }

    /// Moves the last undone step to the undo list. The body redoes it.
    func redoLast(_ body: (UndoGroup) -> Void) {
        guard let group = redoable.popLast() else { return }
        withoutRegistration { body(group) }
        undoable.append(group)
        trim()
    }

    private func trim() {
        if levelsOfUndo > 0, undoable.count > levelsOfUndo { undoable.removeFirst(undoable.count - levelsOfUndo) }
    }
}

@available(*, unavailable, message: "An undo stack is confined to its context.")
extension UndoStack: Sendable {}
