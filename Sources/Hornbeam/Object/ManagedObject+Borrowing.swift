public import HornbeamModel
internal import HornbeamStore

extension ManagedObject {
    /// Lends the UTF-8 bytes of a text for the time of a closure, without making a `String` of them.
    ///
    /// ```swift
    /// let isOdd = event.withUTF8(of: Event.name) { $0.last == UInt8(ascii: "7") }
    /// ```
    /// The value is the one that `self[token]` shows: of an unchanged object the bytes lie in the store's page, so that nothing is copied
    /// and nothing allocated. No value is lent as no bytes. The bytes must not be used after the closure, which had better be short: the
    /// store cannot give up the page meanwhile. Traps as the getter does.
    @inlinable
    public final func withUTF8<Result, Failure: Error>(
        of token: Attribute<String>, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let text = borrowedText(token.nameID) {
            defer { text.giveBack() }
            return try body(text.bytes)
        }
        var result: Swift.Result<Result, Failure>?
        lendUTF8(token.nameID) { bytes in
            let bytes = bytes ?? UnsafeBufferPointer(start: nil, count: 0)
            result = Swift.Result { () throws(Failure) in try body(bytes) }
        }
        return try result!.get()
    }

    /// As for a required text; nil where there is no value.
    @inlinable
    public final func withUTF8<Result, Failure: Error>(
        of token: Attribute<String?>, _ body: (UnsafeBufferPointer<UInt8>?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let text = borrowedText(token.nameID) {
            defer { text.giveBack() }
            return try body(text.bytes)
        }
        var result: Swift.Result<Result, Failure>?
        lendUTF8(token.nameID) { bytes in result = Swift.Result { () throws(Failure) in try body(bytes) } }
        return try result!.get()
    }

    /// A text that lies where its row was seen and that nothing has to be done for first; nil sends to `lendUTF8`.
    @usableFromInline
    final func borrowedText(_ nameID: PropertyNameID) -> BorrowedText? {
        let index = scope.index(of: nameID)
        guard isPlain(index, .string), let text = scope.cells?.borrowText(index, hint) else { return nil }
        return BorrowedText(text)
    }

    /// Calls the body exactly once.
    @usableFromInline
    final func lendUTF8(_ nameID: PropertyNameID, _ body: (UnsafeBufferPointer<UInt8>?) -> Void) {
        let index = scope.index(of: nameID)
        scope.hub?.noteAccess(self, index)
        guard isInCell(index, .string) else {
            guard case .string(var text) = currentValue(of: scope.properties[index]) else { return body(nil) }
            return text.withUTF8 { body($0) }
        }
        do {
            var place = hint
            let isThere = try scope.readingCells().lendText(index, key, &place) { bytes in
                body(bytes.map { $0.assumingMemoryBound(to: UInt8.self) })
            }
            hint = place
            if isThere { return }
            markGone()
        } catch { markFailed(error) }
        body(nil)
    }
}

/// Bytes of the store's page, to be given back.
@usableFromInline
struct BorrowedText {
    @usableFromInline let start: UnsafePointer<UInt8>
    @usableFromInline let count: Int
    @usableFromInline let reader: UnsafeMutableRawPointer?

    init(_ lent: LentText) {
        start = lent.start.assumingMemoryBound(to: UInt8.self)
        count = lent.count
        reader = lent.reader
    }

    @inlinable var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: start, count: count) }

    @inlinable func giveBack() { BorrowedText.giveBack(reader) }

    @usableFromInline
    static func giveBack(_ reader: UnsafeMutableRawPointer?) { LentText.giveBack(reader) }
}
