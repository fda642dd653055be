internal import HornbeamModel

/// What happened to the objects of a context, so that it can be taken back and done again (section 1.18).
///
/// ```swift
/// context.undoStack = UndoStack()
/// event.name = "Renamed"
/// context.processPendingChanges()      // the end of an event; `perform` does this by itself
/// context.undo()
/// context.redo()
/// ```
/// All changes of one event make one step; `group` makes one of several events. Saving does not clear the stack: a change that
/// is undone after the save is a change like any other, an insertion is undone by a deletion, and a deleted object comes back
/// under its ID. `rollback` and `reset` clear it. The stack keeps the objects that it knows alive.
///
/// Foundation's undo manager does not exist on Linux, hence this one (UND-5). It belongs to one context.
public final class UndoStack {
    /// The most steps that can be undone; 0 for any number. The oldest go first.
    public var levelsOfUndo: Int { didSet { trim() } }

    private(set) var undoable: [UndoGroup] = []
    private(set) var redoable: [UndoGroup] = []
    /// What happened since the last step was closed.
    private var open = UndoGroup()
    private var depth = 0
    private var disabled = 0

    /// An empty stack that keeps at most the given number of steps; 0 for any number.
    public init(levelsOfUndo: Int = 0) { self.levelsOfUndo = levelsOfUndo }

    /// How many steps can be undone, the open one included.
    public var undoCount: Int { undoable.count + (open.steps.isEmpty ? 0 : 1) }
    /// How many steps can be done again.
    public var redoCount: Int { redoable.count }
    /// True if a step can be undone.
    public var canUndo: Bool { undoCount > 0 }
    /// True if a step can be redone.
    public var canRedo: Bool { redoCount > 0 }

    /// The name of the step that `undo` takes back, for a menu.
    public var undoActionName: String? { open.steps.isEmpty ? undoable.last?.name : open.name }
    /// The name of the step that `redo` does again.
    public var redoActionName: String? { redoable.last?.name }

    /// Names the step that is under way, or else the last one.
    public func setActionName(_ name: String) {
        if depth > 0 || !open.steps.isEmpty || undoable.isEmpty {
            open.name = name
        } else {
            undoable[undoable.count - 1].name = name
        }
    }

    /// Makes one step of all that the body does, however many events it takes. Groups may lie in groups.
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

    /// Ends what `beginGrouping()` began.
    public func endGrouping() {
        require(depth > 0, "endGrouping() was called without beginGrouping().")
        depth -= 1
        closeEvent()
    }

    /// Runs the body without remembering its changes; for imports.
    ///
    /// Steps from before can still be undone; what they changed and the body changed too becomes what it was before.
    public func withoutRegistration<Result>(_ body: () throws -> Result) rethrows -> Result {
        disabled += 1
        defer { disabled -= 1 }
        return try body()
    }

    /// Forgets all steps.
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

    /// The end of an event: what happened becomes a step.
    func closeEvent() {
        guard depth == 0, !open.steps.isEmpty else { return }
        undoable.append(open)
        open = UndoGroup()
        trim()
    }

    /// Moves the last step to the other side, while the body takes it back.
    func undoLast(_ body: (UndoGroup) -> Void) {
        guard let group = undoable.popLast() else { return }
        withoutRegistration { body(group) }
        redoable.append(group)
    }

    /// Moves the step undone last back, while the body does it again.
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

@available(*, unavailable, message: "An undo stack stays with its context.")
extension UndoStack: Sendable {}
