import Testing

/// Code that the compiler does not check is in few files, each with its reason.
///
/// All modules of the products are built with `.strictMemorySafety()`, so that each unsafe expression is marked too.
@Suite struct UnsafeRules {
    /// References without a count, casts and accesses without a check.
    private static let uncheckedReferences: [String: String] = [
        "HornbeamThreads/Cores": "a C thread gets its Swift object as a raw address",
        "HornbeamThreads/Interleaving/InterleavedThread": "a C thread gets its Swift object as a raw address",
        "HornbeamThreads/Interleaving/Interleaving": "the current thread's object is kept in thread-specific data",
        "HornbeamEngine/Commit/ProcessTurn+Thread": "a C thread gets its Swift object as a raw address",
        "HornbeamEngine/Editing/NodeLedger": "changes of a transaction skip the check of exclusive access",
        "HornbeamEngine/Editing/TreeEditor": "changes of a transaction skip the check of exclusive access",
        "HornbeamEngine/Pool/Prefaulter": "a C thread gets its Swift object as a raw address",
        "HornbeamEngine/Transactions/Maintenance": "a C thread gets its Swift object as a raw address",
        "HornbeamEngine/Transactions/WriteTransaction": "changes of a transaction skip the check of exclusive access",
        "HornbeamEngine/Tree/CachedLeafHeader": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/RowView": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/TableCells": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/TableCells+FixedCells": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/TableCells+Lookup": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/TableCells+Texts": "a cell is read without counting references to the pool and the layouts",
        "HornbeamEngine/Tree/TreeWalk": "a view does not count references to its version",
        "HornbeamStore/Batch/BatchSession": "bulk inserts skip the check of exclusive access",
        "HornbeamStore/Batch/BatchWriter": "bulk inserts skip the check of exclusive access",
        "HornbeamStore/Batch/BatchWriter+Cells": "bulk inserts do not count references to their row",
        "HornbeamStore/Batch/IndexEntries": "bulk inserts skip the check of exclusive access",
        "HornbeamStore/Fetch/Answer/DirectDictionaries": "fetches of few rows skip the check of exclusive access",
        "HornbeamStore/Fetch/Answer/DirectFetch": "fetches of few rows skip the check of exclusive access",
        "HornbeamStore/Rows/CellReader": "a cell is read without counting references to its table",
        "HornbeamStore/Save/SaveExecution": "saves skip the check of exclusive access",
        "HornbeamStore/Stack/StoreStack": "a lookup does not count references to its store",
        "Hornbeam/Batches/BatchRow": "bulk inserts skip the check of exclusive access",
        "Hornbeam/Context/ManagedObjectContext+Identity": "a registered object is returned without a second check of its class",
        "Hornbeam/Core/EntityScope": "an object does not keep its context alive",
        "Hornbeam/Core/ManagedObjectContext": "property getters skip the check of exclusive access",
        "Hornbeam/Core/ObjectRecord": "property getters skip the check of exclusive access",
        "Hornbeam/Core/ObjectRegistry": "the registry finds objects without counting references to them",
        "Hornbeam/Core/PersistentStoreCoordinator": "a lookup does not count references to its stores",
        "Hornbeam/Core/ScopeTable": "a lookup by ID does not count references to the scope",
        "Hornbeam/Fetching/ManagedObjectContext+Fetch": "the class of fetched objects was checked before",
        "Hornbeam/Fetching/ManagedObjectContext+First": "the class of fetched objects was checked before",
        "Hornbeam/Relationships/MemberIterator": "the class of the members was checked before",
        "Hornbeam/Threads/FreedMemory": "a function of the C library is found by name",
    ]

    /// Raw pointers in the modules whose other files use buffers with bounds.
    private static let rawPointers: [String: String] = [
        "HornbeamThreads/Guarded": "a value beside its lock",
        "HornbeamThreads/Interleaving/InterleavedThread": "the argument of a C thread",
        "HornbeamThreads/Monitor": "locks and conditions of POSIX, which must not move",
        "HornbeamThreads/ThreadNumber": "thread-specific data of POSIX",
        "HornbeamThreads/ThreadTeam": "semaphores of POSIX, which must not move",
        "HornbeamEngine/Codec/Bytes": "borrowed bytes with typed loads",
        "HornbeamEngine/Codec/XXH64": "the hash reads 32 bytes a step",
        "HornbeamEngine/Editing/KeyFilter": "the words of the filter, in huge pages",
        "HornbeamEngine/FileSystem/EngineError+Errno": "texts of the C library",
        "HornbeamEngine/FileSystem/PosixFileSystem": "folder listings of the C library",
        "HornbeamEngine/Nodes/ResolvedLayout": "columns of a layout, read for each cell",
        "HornbeamEngine/Nodes/RowBuffer": "cells of a row under construction, written by bulk inserts",
        "HornbeamEngine/Nodes/SlottedNode": "links of inner nodes that readers and a checkpoint share",
        "HornbeamEngine/Pool/CacheLine": "addresses to prefetch",
        "HornbeamEngine/Pool/Epochs": "the cells in which readers store their epochs",
        "HornbeamEngine/Pool/FramePool": "the memory of the frames and their records",
        "HornbeamEngine/Pool/GrowingArray": "elements that grow without being copied",
        "HornbeamEngine/Pool/Page": "typed loads and stores in a page",
        "HornbeamEngine/Pool/PoolMemory": "reserved address space",
        "HornbeamEngine/Pool/Prefaulter": "memory to populate",
        "HornbeamEngine/Tree/LeafHintCache": "the words of the cache, allocated on demand",
        "HornbeamEngine/Tree/RowView": "cells of a leaf",
        "HornbeamEngine/Tree/TableCells+Lookup": "addresses to prefetch",
        "HornbeamEngine/Tree/TableCells+Texts": "texts of a leaf, borrowed without a closure",
        "HornbeamEngine/Tree/TextOffsetPredictor": "addresses to prefetch",
    ]

    @Test func uncheckedReferencesStandInNamedFiles() {
        let words = ["Unmanaged", "unowned(unsafe)", "@exclusivity(unchecked)", "_withUnsafeGuaranteedRef", "unsafeBitCast", "unsafeDowncast"]
        #expect(Self.files { file in words.contains { file.code.contains($0) } } == Self.uncheckedReferences.keys.sorted())
    }

    @Test func rawPointersStandInNamedFiles() {
        let words = ["UnsafePointer", "UnsafeRawPointer", "UnsafeMutablePointer", "UnsafeMutableRawPointer"]
        let found = Self.files { file in
            ["HornbeamEngine", "HornbeamThreads"].contains(file.module) && words.contains { file.code.contains($0) }
        }
        #expect(found == Self.rawPointers.keys.sorted())
    }

    /// The files of the products that match, without `Sources/` and `.swift`.
    private static func files(_ matches: (TextFile) -> Bool) -> [String] {
        Repository.sourceFiles.filter { $0.path.hasPrefix("Sources/") && matches($0) }.map { $0.path.dropFirst(8).dropLast(6) }.map(String.init).sorted()
    }
}

extension TextFile {
    /// The lines without their comments.
    fileprivate var code: String {
        lines.map { line in line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line }.joined(separator: "\n")
    }
}
