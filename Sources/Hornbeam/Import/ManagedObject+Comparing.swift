internal import Foundation
internal import HornbeamModel

extension ManagedObject {
    /// True when an attribute has the value. Numbers and texts are compared in their cells, so that an unchanged row makes no values.
    final func has(_ value: PropertyValue, _ property: PropertyDescription) -> Bool {
        switch (value, scope.shape.cellForms[property.index]) {
        case (.int(let number), .integer): integerCell(property.nameID) == number
        case (.bool(let truth), .integer): integerCell(property.nameID) == (truth ? 1 : 0)
        case (.double(let number), .double) where !number.isNaN: doubleCell(property.nameID) == number
        case (.date(let date), .double): doubleCell(property.nameID) == date.timeIntervalSinceReferenceDate
        case (.string(let text), .string): hasText(text, property)
        default: currentValue(of: property) == value
        }
    }

    private func hasText(_ text: String, _ property: PropertyDescription) -> Bool {
        var text = text
        return text.withUTF8 { wanted in
            func isWanted(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
                guard bytes.count == wanted.count, let start = bytes.baseAddress, let other = wanted.baseAddress else {
                    return bytes.count == wanted.count
                }
                return unsafe memcmp(start, other, bytes.count) == 0
            }
            if let held = borrowedText(property.nameID) {
                defer { held.endBorrowing() }
                return unsafe isWanted(held.bytes)
            }
            var isEqual = false
            unsafe withStoredUTF8(property.nameID) { bytes in isEqual = unsafe bytes.map(isWanted) ?? false }
            return isEqual
        }
    }
}
