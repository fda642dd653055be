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
        var result: Swift.Result<Result, Failure>?
        lendUTF8(token.nameID) { bytes in result = Swift.Result { () throws(Failure) in try body(bytes) } }
        return try result!.get()
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
