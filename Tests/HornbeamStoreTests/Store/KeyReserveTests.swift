import HornbeamEngine
import HornbeamModel
import Testing
@testable import HornbeamStore

@Suite("Keys of new objects")
struct KeyReserveTests {
    @Test("a sequence that has no key below the bits of the slot gives no keys")
    func keysWithSlotBits() throws {
        let library = try Library()
        let transaction = try library.store.engine.begin()
        _ = try transaction.reserve(1 << 48)
        _ = try transaction.commit()
        let error = #expect(throws: HornbeamError.self) { try library.store.reserveKeys(1) }
        #expect(error?.code == .full)
        try library.store.close()
    }
}
