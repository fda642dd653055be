// Redo records with sets of rows. A set has one bit for each row if the keys are dense.
//
//  12 alter     u32 tree | rows | u8 columns | for each u32 column identifier | u8 how (0 null, 1 set, 2 add) | variable-length number of bytes | bytes
//  13 delete row set   u32 tree | rows
//  14 delete entries   u32 tree | u8 place of the row's key (0 end of key, 1 start of value) | rows
//
// rows: variable-length number of runs. Each run: its first key as the variable-length difference to the first key of the preceding run, and
// a variable-length number 2 n + form. Form 0: ⌈n / 8⌉ bytes, in which bit i selects the first key + i. Form 1: n more keys, each as the
// variable-length difference to the preceding key.

extension Redo {
    /// The largest number of columns that one record changes.
    static var columnsMax: Int { Int(UInt8.max) }

    mutating func alter(_ tree: TreeID, _ rows: RowSelection, _ changes: [ColumnChange], _ columns: [Column]) {
        guard begin(.alter, tree) else { return }
        append(rows)
        bytes.append(UInt8(changes.count))
        for change in changes {
            bytes.appendInteger(columns[change.column].id.rawValue)
            switch change {
            case .add(_, let step):
                bytes += [2, 8]
                bytes.appendInteger(UInt64(bitPattern: step))
            case .set(_, let cell):
                bytes.append(cell == nil ? 0 : 1)
                bytes.appendVariable(UInt64(cell?.count ?? 0))
                bytes += cell ?? []
            }
        }
    }

    mutating func deleteRows(_ tree: TreeID, _ rows: RowSelection) {
        guard begin(.deleteRowSet, tree) else { return }
        append(rows)
    }

    mutating func deleteEntries(_ tree: TreeID, _ place: RowKeyPlace, _ rows: [UInt64]) {
        guard begin(.deleteEntries, tree) else { return }
        bytes.append(place.rawValue)
        append(rows)
    }

    private mutating func append(_ rows: RowSelection) {
        bytes.appendVariable(UInt64(rows.leaves.count))
        var last: UInt64 = 0
        for leaf in rows.leaves {
            if leaf.keysStart == nil {
                appendHead(leaf.firstKey, &last, leaf.rows, isList: false)
                let bits = rows.bits(leaf)
                for n in 0..<(leaf.rows + 7) / 8 {
                    bytes.append(UInt8(truncatingIfNeeded: bits[bits.startIndex + n >> 3] >> UInt64(n & 7 * 8)))
                }
            } else {
                appendList(rows.keys(of: leaf)[...], &last)
            }
        }
    }

    /// Appends ascending keys in runs of 4,096: as bits if they are dense, otherwise one by one.
    private mutating func append(_ keys: [UInt64]) {
        let run = 4096
        bytes.appendVariable(UInt64((keys.count + run - 1) / run))
        var last: UInt64 = 0
        for start in stride(from: 0, to: keys.count, by: run) {
            let part = keys[start..<min(start + run, keys.count)]
            let first = part[start]
            let span = part[part.endIndex - 1] - first
            guard span < UInt64(part.count) * 8 else {
                appendList(part, &last)
                continue
            }
            appendHead(first, &last, Int(span) + 1, isList: false)
            let base = bytes.count
            bytes.append(contentsOf: repeatElement(0, count: Int(span) / 8 + 1))
            for key in part { bytes[base + Int(key - first) >> 3] |= 1 << UInt8((key - first) & 7) }
        }
    }

    private mutating func appendList(_ keys: ArraySlice<UInt64>, _ last: inout UInt64) {
        appendHead(keys[keys.startIndex], &last, keys.count - 1, isList: true)
        for (key, next) in zip(keys, keys.dropFirst()) { bytes.appendVariable(next - key) }
    }

    private mutating func appendHead(_ first: UInt64, _ last: inout UInt64, _ count: Int, isList: Bool) {
        bytes.appendVariable(first &- last)
        bytes.appendVariable(UInt64(count) << 1 | (isList ? 1 : 0))
        last = first
    }
}

extension ByteReader {
    /// The keys of selected rows, ascending.
    mutating func rowSet() throws(EngineError) -> [UInt64] {
        var keys: [UInt64] = []
        var first: UInt64 = 0
        for _ in 0..<(try bounded(try variable(), 1)) {
            first = first &+ (try variable())
            let head = try variable()
            let count = try bounded(head >> 1, head & 1 == 0 ? 8 : 1)
            if head & 1 == 0 {
                let bits = try readBytes((count + 7) / 8)
                for i in 0..<count where bits.load(i >> 3, as: UInt8.self) >> UInt8(i & 7) & 1 == 1 { keys.append(first &+ UInt64(i)) }
            } else {
                var key = first
                keys.append(key)
                for _ in 0..<count {
                    key = key &+ (try variable())
                    keys.append(key)
                }
            }
        }
        guard zip(keys, keys.dropFirst()).allSatisfy(<) else {
            throw EngineError(.damaged, "The keys of a set of rows in the log do not ascend.")
        }
        return keys
    }

    /// Checks a count against the number of remaining bytes, each of which can contain `eachByte` elements.
    private func bounded(_ count: UInt64, _ eachByte: UInt64) throws(EngineError) -> Int {
        guard count <= UInt64(rest.count) * eachByte else {
            throw EngineError(.damaged, "A set of rows counts \(count) in \(rest.count) bytes.")
        }
        return Int(count)
    }

    mutating func columnChange(_ column: Int) throws(EngineError) -> ColumnChange {
        let how = try integer(UInt8.self)
        let cell = try readBytes(try bounded(try variable(), 1))
        switch (how, cell.count) {
        case (0, 0): return .set(column: column, cell: nil)
        case (1, _): return .set(column: column, cell: cell.array)
        case (2, 8): return .add(column: column, step: cell.load(0))
        default: throw EngineError(.damaged, "The log has a column change of kind \(how), which does not exist.")
        }
    }
}
