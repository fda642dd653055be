import Foundation
import Hornbeam
import Testing

/// The conditions that a result must not depend on, with one value of each.
///
/// A test takes all of them, or all that differ in some of the fields, so that a default is never the only value tried.
struct Setting: Hashable, Sendable, CustomTestStringConvertible {
    var kind = StoreKind.inMemory
    /// True for a context over another one, false for one that saves into the store.
    var isChild = false
    /// True if the contexts merge the saves of other contexts automatically.
    var follows = true
    /// True when the objects that the test begins with are stored.
    var isSaved = true
    /// True when the context has unsaved changes of other objects.
    var isBusy = false
    /// True if another context changes the same objects or relationships and saves before this context does.
    ///
    /// A test that calls `contest` states the result: the context's merge policy decides about each property that both sides changed.
    var isContested = false

    /// A part of all combinations, in which any four of the first five fields have all of theirs, and any two of all six. Only stored
    /// objects are contested.
    static let all = variants([\.isChild, \.follows, \.isSaved]).map { setting in
        var variant = setting
        variant.isBusy = [setting.kind == .inMemory, setting.isChild, setting.follows, setting.isSaved].count { $0 } % 2 == 1
        variant.isContested = setting.isSaved && setting.isChild != (setting.kind == .inMemory)
        return variant
    } + onServer([Setting(isBusy: true, isContested: true), Setting(isChild: true, follows: false, isSaved: false)])
    /// Those for objects that are stored.
    static let saved = all.filter(\.isSaved)
    /// Every kind of context.
    static let contexts = variants([\.isChild, \.follows]) + onServer([Setting(isChild: true, follows: false), Setting()])
    /// Every kind of context over stored objects, with and without changes of another context.
    static let contested = variants([\.isChild, \.follows, \.isContested])
        + onServer([Setting(isContested: true), Setting(isChild: true, follows: false, isContested: true)])

    /// Every kind of context over stored objects that another process changes.
    static let shared = variants([\.isChild, \.follows], [.shared]).map { setting in
        var variant = setting
        variant.isContested = true
        return variant
    }

    /// The first of some settings on a server, because each test waits for it; all of them with HORNBEAM_TEST_SETTINGS=all. `StoreKind.allCases` runs
    /// contexts without a parent on a server.
    private static func onServer(_ settings: [Setting]) -> [Setting] {
        let isWhole = ProcessInfo.processInfo.environment["HORNBEAM_TEST_SETTINGS"] == "all"
        return StoreKind.server.flatMap { kind in
            settings.prefix(isWhole ? settings.count : 1).map { setting in
                var variant = setting
                variant.kind = kind
                return variant
            }
        }
    }

    /// Both values of each field, on disk and in memory.
    private static func variants(_ fields: [WritableKeyPath<Setting, Bool>], _ kinds: [StoreKind] = StoreKind.own) -> [Setting] {
        fields.reduce(kinds.map { Setting(kind: $0) }) { settings, field in
            settings.flatMap { setting in
                [false, true].map { value in
                    var variant = setting
                    variant[keyPath: field] = value
                    return variant
                }
            }
        }
    }

    var testDescription: String {
        [
            kind.testDescription, isChild ? "child" : "root", follows ? "following" : "not following",
            isSaved ? "saved" : "unsaved", isBusy ? "with other changes" : nil, isContested ? "contested" : nil,
        ].compactMap { $0 }.joined(separator: ", ")
    }

    /// True for a child that keeps its values when the save of its parent has another result.
    var keepsWhatItHas: Bool { isChild && !follows }

    /// A context of the kind that the setting names. A child keeps its parent alive.
    func context(of stack: Stack) -> ManagedObjectContext {
        let root = stack.newContext()
        root.automaticallyMergesChangesFromParent = follows
        guard isChild else { return root }
        let child = root.newChildContext()
        child.automaticallyMergesChangesFromParent = follows
        return child
    }

    /// Saves the objects that the test has made so far, and makes unrelated changes, if the setting says so.
    func prepare(_ context: ManagedObjectContext) throws {
        if isSaved { try context.saveToStore() }
        if isBusy { context.department("unrelated").budget = 1 }
    }

    /// Changes stored objects in another context and saves it, if the setting is contested.
    func contest(_ stack: Stack, _ change: (ManagedObjectContext) throws -> Void) throws {
        guard isContested, isSaved else { return }
        let others = stack.newOtherContext()
        try change(others)
        try others.save()
    }

    /// Merge policies, and whether the changes of the context that saves last hold in a property that both sides changed.
    static let policies: [(policy: MergePolicy, mineHolds: Bool)] = [
        (.mergeByPropertyObjectTrump, true), (.mergeByPropertyStoreTrump, false), (.overwrite, true), (.rollback, false),
    ]
}

extension ManagedObjectContext {
    /// Saves this context and all above it.
    func saveToStore() throws {
        try save()
        try parent?.saveToStore()
    }

    /// Merges the saves of other contexts in this context and all its ancestors, root first.
    func mergeFromStore() throws {
        try parent?.mergeFromStore()
        try mergeChanges()
    }

    /// Gives this context and all above it a merge policy.
    func setMergePolicies(_ policy: MergePolicy) {
        mergePolicy = policy
        parent?.setMergePolicies(policy)
    }

    /// The merges of the last saves of this context and of all above it.
    var mergeReports: [MergeReport] { [lastMergeReport] + (parent?.mergeReports ?? []) }
}
