public import HornbeamModel
internal import HornbeamStore

extension ManagedObject {
    /// Passes the UTF-8 bytes of a text to a closure without creating a `String`.
    ///
    /// ```swift
    /// let isOdd = event.withUTF8(of: Event.name) { $0.last == UInt8(ascii: "7") }
    /// ```
    /// The bytes are those of the value of `self[token]`. For an unchanged object, they are in the store's page, without a copy
    /// or an allocation. A missing value has zero bytes. The bytes are valid inside the closure only. Keep the closure short: the
    /// store cannot evict the page while it runs. Programmer errors are those of the getter.
    @inlinable
    public final func withUTF8<Result, Failure: Error>(
        of token: Attribute<String>, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let text = borrowedText(token.nameID) {
            defer { text.endBorrowing() }
            return unsafe try body(text.bytes)
        }
        var result: Swift.Result<Result, Failure>?
        unsafe withStoredUTF8(token.nameID) { bytes in
            let bytes = unsafe bytes ?? UnsafeBufferPointer(start: nil, count: 0)
            result = Swift.Result { () throws(Failure) in unsafe try body(bytes) }
        }
        return try result!.get()
    }

    /// Passes the UTF-8 bytes of an optional text to a closure; nil if the value is missing.
    @inlinable
    public final func withUTF8<Result, Failure: Error>(
        of token: Attribute<String?>, _ body: (UnsafeBufferPointer<UInt8>?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let text = borrowedText(token.nameID) {
            defer { text.endBorrowing() }
            return unsafe try body(text.bytes)
        }
        var result: Swift.Result<Result, Failure>?
        unsafe withStoredUTF8(token.nameID) { bytes in result = Swift.Result { () throws(Failure) in unsafe try body(bytes) } }
        return try result!.get()
    }

    /// The text of a located row, if it can be read without preparation; if nil, call `withStoredUTF8`.
    @usableFromInline
    final func borrowedText(_ nameID: PropertyNameID) -> BorrowedText? {
        let index = scope.index(of: nameID)
        guard isPlain(index, .string), let text = scope.cells?.borrowText(index, hint) else { return nil }
        return BorrowedText(text)
    }

    /// Prepares the object as needed and passes the bytes of the text to `body`; nil if there is no value. Calls `body` exactly once.
    @usableFromInline
    final func withStoredUTF8(_ nameID: PropertyNameID, _ body: (UnsafeBufferPointer<UInt8>?) -> Void) {
        let index = scope.index(of: nameID)
        scope.hub?.recordAccess(self, index)
        guard isInCell(index, .string) else {
            guard case .string(var text) = currentValue(of: scope.properties[index]) else { return body(nil) }
            return text.withUTF8 { unsafe body($0) }
        }
        do {
            var place = hint
            let isThere = unsafe try scope.readingCells().readTextBytes(index, key, &place) { bytes in
                unsafe body(bytes.map { unsafe $0.assumingMemoryBound(to: UInt8.self) })
            }
            hint = place
            if isThere { return }
            markRowMissing()
        } catch { markFailed(error) }
        body(nil)
    }
}

/// Bytes in a page of the store. The page cannot be evicted until `endBorrowing` is called.
@safe @usableFromInline
struct BorrowedText {
    @usableFromInline let start: UnsafePointer<UInt8>
    @usableFromInline let count: Int
    @usableFromInline let reader: UnsafeMutableRawPointer?

    init(_ text: BorrowedTextBytes) {
        unsafe start = unsafe text.start.assumingMemoryBound(to: UInt8.self)
        count = text.count
        unsafe reader = unsafe text.reader
    }

    @inlinable var bytes: UnsafeBufferPointer<UInt8> { unsafe UnsafeBufferPointer(start: start, count: count) }

    @inlinable func endBorrowing() { unsafe BorrowedText.endBorrowing(reader) }

    @usableFromInline
    static func endBorrowing(_ reader: UnsafeMutableRawPointer?) { unsafe BorrowedTextBytes.endBorrowing(reader) }
}
