// Applies redo records: calls the method that recorded the operation again.

extension WriteTransaction {
    /// Applies the redo record of one transaction.
    func replay(_ payload: Bytes) throws(EngineError) {
        var reader = ByteReader(payload)
        while !reader.isAtEnd {
            let rawCode = try reader.integer(UInt8.self)
            guard let code = RedoCode(rawValue: rawCode), code != .attach else {
                throw EngineError(.damaged, "The log holds operation \(rawCode), which does not exist.")
            }
            try replay(code, &reader)
        }
    }

    private func replay(_ code: RedoCode, _ reader: inout ByteReader) throws(EngineError) {
        if code == .sequence {
            let next = try reader.integer(UInt64.self)
            guard next > 0, next < StoreLimits.numberMax else {
                throw EngineError(.damaged, "The log sets the next object key to a number that is out of range.")
            }
            return setNextObjectKey(next)
        }
        let tree = TreeID(try reader.integer(UInt32.self))
        switch code {
        case .put:
            try replayPut(tree, &reader)
        case .delete:
            _ = try delete(try reader.redoKey(), from: tree)
        case .putRow:
            let key = try reader.integer(UInt64.self)
            try replayRow(tree, key, &reader)
        case .deleteRows:
            _ = try delete(try reader.keys(), from: tree)
        case .patch:
            try replayPatch(tree, &reader)
        case .createIndex:
            try create(tree, named: try reader.text(), layout: nil)
        case .createTable:
            let name = try reader.text()
            try create(tree, named: name, layout: try Catalogue.decodeLayout(&reader, pageSize: pageSize))
        case .setLayout:
            try setLayout(try Catalogue.decodeLayout(&reader, pageSize: pageSize), of: tree)
        case .drop:
            try drop(tree)
        case .alter:
            try replayAlter(tree, &reader)
        case .deleteRowSet:
            try delete(try table(tree).selection(of: try reader.rowSet()), from: tree)
        case .deleteEntries:
            try replayDeleteEntries(tree, &reader)
        case .sequence, .attach:
            break
        }
    }

    func replayPut(_ tree: TreeID, _ reader: inout ByteReader) throws(EngineError) {
        let (key, value, isBlob) = try reader.redoPut()
        try replayPut(tree, key, value, isBlob: isBlob)
    }

    func replayRow(_ table: TreeID, _ key: UInt64, _ reader: inout ByteReader) throws(EngineError) {
        let editor = try self.table(editing: table)
        let layout = editor.layouts!.all[editor.layouts!.all.count - 1]
        let row = engine.replayRows.row(of: table, layout)
        try row.readImage(&reader)
        guard row.variableBytes <= blobThreshold else {
            throw EngineError(.damaged, "The log puts an impossible row into table \(table).")
        }
        for i in 0..<row.columnCount where row.kind(i) == .bytes && !row.isNull(i) && row.cell(i).isBlob {
            guard row.cell(i).length == BlobCell.size else {
                throw EngineError(.damaged, "The log puts a broken blob reference into table \(table).")
            }
            ledger.newBlobs.append(row.bytes(i).load(0))
        }
        _ = try mutate { () throws(EngineError) in try editor.put(key: key, row) }
    }

    private func replayPatch(_ tree: TreeID, _ reader: inout ByteReader) throws(EngineError) {
        let column = ColumnID(try reader.integer(UInt32.self))
        let width = Int(try reader.integer(UInt8.self))
        let keys = try reader.keys()
        let bits = try reader.readBytes((keys.count + 7) / 8)
        let nulls = keys.indices.map { bits.load($0 >> 3, as: UInt8.self) >> UInt8($0 & 7) & 1 == 1 }
        let cells = try reader.readBytes(width * keys.count)
        guard let position = try layout(of: tree).columns.firstIndex(where: { $0.id == column }) else {
            throw EngineError(.damaged, "The log patches column \(column) of tree \(tree), which has no such column.")
        }
        try patch(position, of: keys, values: cells, nulls: nulls, in: tree)
    }
}
