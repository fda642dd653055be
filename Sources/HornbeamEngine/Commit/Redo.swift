// The redo record of a transaction: operations on keys and rows, never on pages.
//
// Each operation is a u8 code and little-endian fields. Sets of keys are in ascending order, as variable-length
// differences. Replay applies the operations to the preceding version, through the same editors.
//
//   1 put        u32 tree | u8 is blob | u16 key length | u32 value length | key | value
//   2 delete     u32 tree | u16 key length | key
//   3 put row    u32 tree | u64 key | row image (RowBuffer.swift)
//   4 delete rows   u32 tree | keys
//   5 patch      u32 tree | u32 column identifier | u8 cell bytes | keys | null bitmap | cells
//   6 create index   u32 tree | name        7 create table   u32 tree | name | layout
//   8 set layout u32 tree | layout          9 drop           u32 tree
//  10 sequence   u64 next object key       11 attach   24-byte references of a catalogue and a file table
//  12 … 14 are in Redo+Selection.swift.
//
// keys: the number of keys, the first key, and the differences, each with variable length.

enum RedoCode: UInt8 {
    case put = 1
    case delete, putRow, deleteRows, patch, createIndex, createTable, setLayout, drop, sequence, attach
    case alter, deleteRowSet, deleteEntries
}

/// The redo record of a running transaction.
struct Redo {
    /// The recorded operations. Only the recording methods append to them.
    var bytes: [UInt8] = []
    /// True when it is certain that the transaction will be attached to the log as a catalogue. Then nothing more is recorded.
    private(set) var isAbandoned = false
    /// True in a store that is never opened again, such as a cache in memory. The first change records an operation that is never replayed, so that
    /// the transaction is known to have changes; nothing else is recorded.
    let isOmitted: Bool

    /// A transaction with more bytes of redo is always attached, even if its nodes need more bytes.
    static let bytesMax = 64 << 20

    /// The redo of a save of a few objects fits without a further allocation. With the header of the array this takes at most 1,032 bytes, which
    /// the C library allocates from a cache of the thread.
    init(isOmitted: Bool = false) {
        self.isOmitted = isOmitted
        if !isOmitted { bytes.reserveCapacity(960) }
    }

    mutating func abandon() {
        bytes = []
        isAbandoned = true
    }

    /// False if the next operation is not recorded.
    @inline(__always)
    private mutating func isRecording() -> Bool {
        if isAbandoned { return false }
        if isOmitted {
            if bytes.isEmpty { appendSequence(0) }
            return false
        }
        if bytes.count > Redo.bytesMax { abandon() }
        return !isAbandoned
    }

    private mutating func appendSequence(_ next: UInt64) {
        bytes.append(RedoCode.sequence.rawValue)
        bytes.appendInteger(next)
    }

    /// Begins the record of an operation on a tree. False if it is not recorded.
    mutating func begin(_ code: RedoCode, _ tree: TreeID) -> Bool {
        guard isRecording() else { return false }
        bytes.append(code.rawValue)
        bytes.appendInteger(tree.rawValue)
        return true
    }

    mutating func put(_ tree: TreeID, _ key: Bytes, _ value: Bytes, isBlob: Bool) {
        guard isRecording() else { return }
        // Code, tree, flag and key length are appended as one word, because bulk inserts call this method very often.
        let head = UInt64(RedoCode.put.rawValue) | UInt64(tree.rawValue) << 8 | (isBlob ? 1 << 40 : 0)
        bytes.appendInteger(head | UInt64(key.count) << 48)
        bytes.appendInteger(UInt32(value.count))
        assert(key.count <= StoreLimits.keyLengthMax && value.count <= Int(UInt32.max), "An entry fits its redo record.")
        unsafe bytes.append(contentsOf: key.buffer)
        unsafe bytes.append(contentsOf: value.buffer)
    }

    mutating func delete(_ tree: TreeID, _ key: Bytes) {
        guard begin(.delete, tree) else { return }
        bytes.appendInteger(UInt16(key.count))
        unsafe bytes.append(contentsOf: key.buffer)
    }

    mutating func putRow(_ tree: TreeID, _ key: UInt64, _ row: RowBuffer) {
        guard begin(.putRow, tree) else { return }
        bytes.appendInteger(key)
        row.appendImage(to: &bytes)
    }

    mutating func deleteRows(_ tree: TreeID, _ keys: [UInt64]) {
        guard begin(.deleteRows, tree) else { return }
        appendKeys(keys)
    }

    mutating func patch(_ tree: TreeID, _ column: ColumnID, _ keys: [UInt64], _ cells: Bytes, _ nulls: [Bool]?) {
        guard begin(.patch, tree) else { return }
        bytes.appendInteger(column.rawValue)
        assert(keys.isEmpty || cells.count % keys.count == 0, "All cells of a column have one width.")
        bytes.append(UInt8(keys.isEmpty ? 0 : cells.count / keys.count))
        appendKeys(keys)
        var bits = [UInt8](repeating: 0, count: (keys.count + 7) / 8)
        for (i, isNull) in (nulls ?? []).enumerated() where isNull { bits[i >> 3] |= 1 << UInt8(i & 7) }
        bytes.append(contentsOf: bits)
        unsafe bytes.append(contentsOf: cells.buffer)
    }

    private mutating func appendKeys(_ keys: [UInt64]) {
        assert(zip(keys, keys.dropFirst()).allSatisfy(<=), "The keys of a redo record ascend.")
        bytes.appendVariable(UInt64(keys.count))
        var last: UInt64 = 0
        for key in keys {
            bytes.appendVariable(key &- last)
            last = key
        }
    }

    mutating func createIndex(_ tree: TreeID, _ name: String) {
        guard begin(.createIndex, tree) else { return }
        bytes.appendText(name)
    }

    mutating func createTable(_ tree: TreeID, _ name: String, _ layout: ColumnLayout) {
        guard begin(.createTable, tree) else { return }
        bytes.appendText(name)
        Catalogue.append(layout, to: &bytes)
    }

    mutating func setLayout(_ tree: TreeID, _ layout: ColumnLayout) {
        guard begin(.setLayout, tree) else { return }
        Catalogue.append(layout, to: &bytes)
    }

    mutating func drop(_ tree: TreeID) {
        guard begin(.drop, tree) else { return }
    }

    mutating func sequence(_ next: UInt64) {
        guard isRecording() else { return }
        appendSequence(next)
    }

    static func attach(_ catalogue: PageReference, _ fileTable: PageReference) -> [UInt8] {
        assert(!catalogue.isInMemory && !fileTable.isInMemory, "The log names page files.")
        var bytes = [RedoCode.attach.rawValue]
        bytes.appendReference(catalogue)
        bytes.appendReference(fileTable)
        return bytes
    }

    /// The catalogue and the file table of an attach record; nil for other redo records.
    static func attached(_ payload: Bytes) throws(EngineError) -> (catalogue: PageReference, fileTable: PageReference)? {
        guard payload.count > 0, payload.load(0, as: UInt8.self) == RedoCode.attach.rawValue else { return nil }
        var reader = ByteReader(payload.dropFirst(1))
        return (try reader.reference(), try reader.reference())
    }
}

extension ByteReader {
    mutating func keys() throws(EngineError) -> [UInt64] {
        let count = try variable()
        guard count <= UInt64(rest.count) else {
            throw EngineError(.damaged, "A record counts \(count) keys in \(rest.count) bytes.")
        }
        var keys: [UInt64] = []
        keys.reserveCapacity(Int(count))
        var last: UInt64 = 0
        for _ in 0..<count {
            last = last &+ (try variable())
            keys.append(last)
        }
        return keys
    }

    /// The fields of `put` after the tree.
    mutating func redoPut() throws(EngineError) -> (key: Bytes, value: Bytes, isBlob: Bool) {
        let isBlob = try integer(UInt8.self) == 1
        let keyLength = Int(try integer(UInt16.self))
        let valueLength = Int(try integer(UInt32.self))
        let key = try readBytes(keyLength)
        return (key, try readBytes(valueLength), isBlob)
    }

    /// The key of `delete`.
    mutating func redoKey() throws(EngineError) -> Bytes { try readBytes(Int(try integer(UInt16.self))) }
}
